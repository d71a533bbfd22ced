// The disciplines that can be chosen and the keys that can be written, once the engine is there.

import { type Signal, signal } from "@preact/signals";
import type { JsonSchema } from "../editor/schema";
import type { Choice } from "../engine/protocol";
import { engine } from "./current-engine";

export const choices: Signal<Choice[]> = signal([]);
/** The JSON Schema of scenarios. */
export const schema: Signal<JsonSchema | undefined> = signal(undefined);
let areAsked = false;

export function askForChoices(): void {
  if (!areAsked) {
    areAsked = true;
    void engine.choices().then(found => {
      choices.value = disciplinesOf(found);
    });
    void engine.schema().then(found => {
      schema.value = found;
    });
  }
}

/** Disciplines that need no parameter and that a browser can run. */
function disciplinesOf(found: readonly Choice[]): Choice[] {
  return found.filter(
    it =>
      it.kind === "discipline" &&
      it.name !== "python" &&
      !it.parameters.some(parameter => parameter.required && !parameter.name.includes(".")),
  );
}
