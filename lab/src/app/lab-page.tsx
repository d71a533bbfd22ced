import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { decodeShared } from "../share/link";
import type { Shared } from "../share/shared";
import { EXAMPLE_FILES, EXAMPLES, exampleOf } from "./examples";
import type { Panel } from "./figures";
import { PANELS } from "./figures";
import { Lab } from "./lab";
import { recall, remember, theme } from "./theme";

const KEY = "forebay-lab-text";
const FIRST = EXAMPLES[0]?.text ?? "";
const FIRST_COMPARISON = ["drop_tail", "dbl"];

/** The scenario in an address, with what a link has around it. */
interface Addressed {
  shared: Shared | undefined;
  problem: string | undefined;
}

function useAddressed(parameters: URLSearchParams): Addressed {
  const code = parameters.get("s");
  const example = parameters.get("example");
  const compare = parameters.get("compare");
  return useMemo(() => {
    if (code !== null) {
      return decodeShared(code);
    }
    const text = exampleOf(example)?.text;
    const queues = compare?.split(",").filter(Boolean) ?? [];
    return { shared: text === undefined ? undefined : { text, queues }, problem: undefined };
  }, [code, example, compare]);
}

export function LabPage({ parameters }: { parameters: URLSearchParams }) {
  const { shared, problem } = useAddressed(parameters);
  const addressed = shared?.text;
  const text = useSignal(addressed ?? recall(KEY) ?? FIRST);
  const revision = useSignal(0);
  useEffect(() => {
    if (addressed !== undefined) {
      text.value = addressed;
    }
  }, [addressed, text]);
  // Another scenario than that of the address has nothing to do with what the link compared.
  const isAddressed = shared !== undefined && text.value === addressed;
  // The first visit begins with a comparison, so that the page shows what it is for.
  const compare = isAddressed ? shared.queues : text.value === FIRST ? FIRST_COMPARISON : undefined;
  return (
    <>
      <h1 class="sr-only">Lab</h1>
      {problem && (
        <p class="fault page-fault" role="alert">
          {problem}
        </p>
      )}
      <Lab
        text={text.value}
        revision={revision.value}
        files={EXAMPLE_FILES}
        compare={compare}
        overrides={isAddressed ? shared.overrides : undefined}
        seed={isAddressed ? shared.seed : undefined}
        at={isAddressed ? shared.at : undefined}
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
                revision.value += 1;
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
  const { shared, problem } = useAddressed(parameters);
  const asked = parameters.get("theme");
  useEffect(() => {
    if (asked === "auto" || asked === "light" || asked === "dark") {
      theme.value = asked;
    }
  }, [asked]);
  const panels = parameters.get("panels")?.split(",").filter(isPanel);
  const named = parameters.get("compare")?.split(",").filter(Boolean);
  return (
    <main class="embed">
      {problem ? (
        <p class="fault" role="alert">
          {problem}
        </p>
      ) : (
        <Lab
          text={shared?.text ?? FIRST}
          files={EXAMPLE_FILES}
          compare={named ?? shared?.queues}
          overrides={shared?.overrides}
          seed={shared?.seed}
          at={shared?.at}
          panels={panels ?? EMBEDDED_PANELS}
          mode="embedded"
        />
      )}
    </main>
  );
}

const EMBEDDED_PANELS: Panel[] = ["goodput", "queue_length", "utilization", "drops"];

function isPanel(name: string): name is Panel {
  return (PANELS as readonly string[]).includes(name);
}
