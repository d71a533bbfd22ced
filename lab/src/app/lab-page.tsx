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
const HERE = "forebay-lab-edited";
const FIRST = EXAMPLES[0]?.text ?? "";
const FIRST_COMPARISON = ["drop_tail", "dbl"];

/** Keeps what the reader wrote, for the next visit and for a reload at this address. */
function keep(text: string): void {
  remember(KEY, text);
  remember(HERE, JSON.stringify([location.hash, text]), "session");
}

let isReloaded = performance.getEntriesByType("navigation").some(it => "type" in it && it.type === "reload");

/** What the reader wrote here before the page was loaded again. */
function beforeReload(): string | undefined {
  if (!isReloaded) {
    return undefined;
  }
  isReloaded = false;
  try {
    const [hash, text] = JSON.parse(recall(HERE, "session") ?? "[]") as unknown[];
    return hash === location.hash && typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

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
  const text = useSignal(FIRST);
  const isOther = useSignal(false);
  const revision = useSignal(0);
  useMemo(() => {
    text.value = beforeReload() ?? addressed ?? recall(KEY) ?? FIRST;
    isOther.value = false;
  }, [addressed]);
  // An example from the menu has nothing to do with what the link compared.
  const isAddressed = shared !== undefined && !isOther.value;
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
        onText={keep}
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
                isOther.value = true;
                keep(example.text);
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
      <h1 class="sr-only">Scenario</h1>
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
