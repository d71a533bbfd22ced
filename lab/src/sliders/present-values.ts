import { useMemo, useRef } from "preact/hooks";
import type { Value } from "../engine/protocol";
import { locateAll } from "./set-value";

/** The values where they are in the text now, although the engine found them in an older one. It finds none in a text
 *  with a fault; those before it stay. */
export function usePresentValues(text: string, values: Value[]): Value[] {
  const latest = useRef(values);
  if (values.length > 0) {
    latest.current = values;
  }
  const found = latest.current;
  return useMemo(() => locateAll(text, found), [text, found]);
}
