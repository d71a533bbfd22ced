// Texts of the schema as elements. Only `code` in backticks is marked; markup stays text.

import type { Hover, Proposal } from "./complete";

export function prose(text: string): Node[] {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? element("code", "", part) : document.createTextNode(part)));
}

export function element(name: string, className: string, ...children: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  made.append(...children);
  return made;
}

export function describeHover(hover: Hover): HTMLElement {
  const head = element("div", "about-head", element("strong", "", hover.title));
  if (hover.type) {
    head.append(" ", element("span", "about-type", hover.type));
  }
  return described(head, hover);
}

export function describeProposal(proposal: Proposal): HTMLElement | null {
  const { description, detail, default: given, required } = proposal;
  if (!description && !given && !detail && !required) {
    return null;
  }
  const head = element("div", "about-head", element("span", "about-type", detail));
  return described(detail ? head : undefined, proposal);
}

function described(
  head: HTMLElement | undefined,
  { description, default: given, required }: Pick<Hover, "description" | "default" | "required">,
): HTMLElement {
  const about = element("div", "about");
  if (head) {
    about.append(head);
  }
  if (description) {
    about.append(element("p", "", ...prose(description)));
  }
  if (given !== undefined) {
    about.append(element("p", "about-default", "Default: ", element("code", "", given)));
  }
  if (required) {
    about.append(element("p", "about-default", "Required."));
  }
  return about;
}
