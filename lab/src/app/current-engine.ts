import schemaUrl from "../../../python/forebay/scenario.schema.json?url";
import type { JsonSchema } from "../editor/schema";
import * as client from "../engine/client";
import type { Engine } from "./engine";

let loaded: Promise<JsonSchema> | undefined;

const fitted = new Map<string, ReturnType<Engine["fitted"]>>();

/** The engine of this page: WebAssembly in workers. */
export const engine: Engine = {
  ...client,
  // A drag of a slider asks the same again and again.
  fitted: (...query) => {
    const key = JSON.stringify(query);
    const known = fitted.get(key) ?? client.fitted(...query);
    fitted.set(key, known);
    return known;
  },
  schema: () => {
    loaded ??= fetch(schemaUrl).then(response => response.json() as Promise<JsonSchema>);
    return loaded;
  },
};
