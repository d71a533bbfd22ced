/** The number of values that are at most `value`; `values` are in ascending order. */
export function countUpTo(values: ArrayLike<number>, value: number, length = values.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The number of values below `value`; `values` are in ascending order. */
export function countBelow(values: ArrayLike<number>, value: number, length = values.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
