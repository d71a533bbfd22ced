import schemaUrl from "../../../python/forebay/scenario.schema.json?url";
import type { JsonSchema } from "../editor/schema";
import * as client from "../engine/client";
import type { Engine } from "./engine";

let loaded: Promise<JsonSchema> | undefined;

/** The engine of this page: WebAssembly in workers. */
export const engine: Engine = {
  ...client,
  schema: () => {
    loaded ??= fetch(schemaUrl).then(response => response.json() as Promise<JsonSchema>);
    return loaded;
  },
};
