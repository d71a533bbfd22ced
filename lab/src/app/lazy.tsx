// Components that are loaded when they are first shown.

import { signal } from "@preact/signals";
import type { ComponentType, VNode } from "preact";
import { useEffect } from "preact/hooks";

/** A component that shows `instead` until its code is there. */
export function lazily<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  instead: (props: Props) => VNode | null,
): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | undefined>(undefined);
  let isAsked = false;
  return function Lazy(props: Props) {
    const Loaded = loaded.value;
    useEffect(() => {
      if (!isAsked) {
        isAsked = true;
        void load().then(found => {
          loaded.value = found;
        });
      }
    }, []);
    return Loaded ? <Loaded {...props} /> : instead(props);
  };
}
