// The text of a story as elements.

import { type ComponentChild, h } from "preact";
import type { Content } from "./story";

export function Text({ content }: { content: readonly Content[] }) {
  return <>{content.map(elementOf)}</>;
}

function elementOf(content: Content): ComponentChild {
  return typeof content === "string" ? content : h(content.tag, null, content.children.map(elementOf));
}

/** A quantity as a reader writes it: `10 Mbps` is 10 Mb/s, `1 packets` is 1 packet. */
export function shownQuantity(text: string): string {
  return text.replace(/([kMG])bps$/, "$1b/s").replace(/^1 packets$/, "1 packet");
}
