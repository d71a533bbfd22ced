import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { EXAMPLE_FILES, EXAMPLES, exampleOf } from "./examples";
import type { Panel } from "./figures";
import { PANELS } from "./figures";
import { Lab } from "./lab";
import { recall, remember } from "./theme";

const KEY = "forebay-lab-text";
const FIRST = EXAMPLES[0]?.text ?? "";
const FIRST_COMPARISON = ["drop_tail", "dbl"];

export function LabPage({ parameters }: { parameters: URLSearchParams }) {
  const addressed = exampleOf(parameters.get("example"))?.text;
  const text = useSignal(addressed ?? recall(KEY) ?? FIRST);
  useEffect(() => {
    if (addressed !== undefined) {
      text.value = addressed;
    }
  }, [addressed, text]);
  const named = parameters.get("compare")?.split(",").filter(Boolean);
  // The first visit begins with a comparison, so that the page shows what it is for.
  const compare = named ?? (addressed === undefined && text.value === FIRST ? FIRST_COMPARISON : undefined);
  return (
    <>
      <h1 class="sr-only">Lab</h1>
      <Lab
        text={text.value}
        files={EXAMPLE_FILES}
        compare={compare}
        mode="full"
        onText={changed => remember(KEY, changed)}
      >
        <label class="examples">
          <span class="sr-only">Open an example</span>
          <select
            value=""
            onChange={event => {
              const example = exampleOf(event.currentTarget.value);
              event.currentTarget.value = "";
              if (example) {
                text.value = example.text;
                remember(KEY, example.text);
              }
            }}
          >
            <option value="" disabled hidden>
              Open an example…
            </option>
            {EXAMPLES.map(it => (
              <option key={it.name} value={it.name}>
                {it.title}
              </option>
            ))}
          </select>
        </label>
      </Lab>
    </>
  );
}

/** The lab without its frame, for pages of the documentation. */
export function EmbedPage({ parameters }: { parameters: URLSearchParams }) {
  const text = exampleOf(parameters.get("example"))?.text ?? FIRST;
  const panels = parameters.get("panels")?.split(",").filter(isPanel);
  const compare = parameters.get("compare")?.split(",").filter(Boolean);
  return (
    <main class="embed">
      <Lab text={text} files={EXAMPLE_FILES} compare={compare} panels={panels ?? EMBEDDED_PANELS} mode="embedded" />
    </main>
  );
}

const EMBEDDED_PANELS: Panel[] = ["goodput", "queue_length", "utilization", "drops"];

function isPanel(name: string): name is Panel {
  return (PANELS as readonly string[]).includes(name);
}
