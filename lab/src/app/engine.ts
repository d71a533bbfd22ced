// The engine as the page uses it. Tests put another one in its place.

import type { JsonSchema } from "../editor/schema";
import type * as client from "../engine/client";

export type { Running, RunOptions } from "../engine/client";
export type { Files } from "../engine/messages";

export interface Engine extends Pick<typeof client, "check" | "values" | "choices" | "fitted" | "run" | "replay"> {
  schema(): Promise<JsonSchema>;
}
