// Buttons in the text, one behind each number, which give it a slider and take it away.

import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { type Command, Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { Value } from "../engine/protocol";

/** A number of the text, and whether it has a slider. */
export interface Pinnable {
  value: Value;
  isPinned: boolean;
}

export const setPinnables = StateEffect.define<Pinnable[]>();

export type OnToggle = (path: string) => void;

class PinButton extends WidgetType {
  constructor(
    private readonly path: string,
    private readonly isPinned: boolean,
    private readonly onToggle: OnToggle,
  ) {
    super();
  }

  override eq(other: PinButton): boolean {
    return other.path === this.path && other.isPinned === this.isPinned;
  }

  override toDOM(): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "pin-button";
    // Alt+Enter does the same where the cursor is. A text with thirty numbers is not thirty steps of the Tab key long.
    button.tabIndex = -1;
    button.title = this.isPinned ? "Remove the slider (Alt+Enter)" : "Add a slider (Alt+Enter)";
    button.ariaLabel = `Slider for ${this.path}`;
    button.ariaPressed = String(this.isPinned);
    button.append(icon());
    button.addEventListener("mousedown", event => event.preventDefault());
    button.addEventListener("click", () => this.onToggle(this.path));
    return button;
  }
}

/** A line with a knob. */
function icon(): SVGElement {
  const svg = (name: string, attributes: Record<string, string>) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, value);
    }
    return element;
  };
  const image = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" });
  image.append(svg("path", { d: "M1 8h14", class: "pin-line" }), svg("circle", { cx: "10", cy: "8", r: "3.5" }));
  return image;
}

interface Shown {
  pinnables: Pinnable[];
  buttons: DecorationSet;
}

/** The buttons and Alt+Enter. Pinnables of another text than the present one are left out. */
export function pinButtons(onToggle: OnToggle): { extension: Extension; toggle: Command } {
  const field = StateField.define<Shown>({
    create: () => ({ pinnables: [], buttons: Decoration.none }),
    update(shown, transaction) {
      const effect = transaction.effects.findLast(one => one.is(setPinnables));
      if (effect) {
        const { doc } = transaction.state;
        const present: Pinnable[] = (effect.value as Pinnable[]).filter(
          ({ value }) => value.to <= doc.length && doc.sliceString(value.from, value.to) === value.text,
        );
        const buttons = present.map(({ value, isPinned }) =>
          Decoration.widget({ widget: new PinButton(value.path, isPinned, onToggle), side: 1 }).range(value.to),
        );
        return { pinnables: present, buttons: Decoration.set(buttons, true) };
      }
      if (!transaction.docChanged) {
        return shown;
      }
      const { changes } = transaction;
      const moved = ({ value, isPinned }: Pinnable): Pinnable => {
        const [from, to] = [changes.mapPos(value.from, -1), changes.mapPos(value.to, 1)];
        return { value: { ...value, from, to }, isPinned };
      };
      return { pinnables: shown.pinnables.map(moved), buttons: shown.buttons.map(changes) };
    },
    provide: own => EditorView.decorations.from(own, shown => shown.buttons),
  });
  const toggle: Command = view => {
    const { head } = view.state.selection.main;
    const line = view.state.doc.lineAt(head);
    const onLine = view.state
      .field(field)
      .pinnables.filter(({ value }) => value.from >= line.from && value.to <= line.to);
    // The number at the cursor; else the next one on the line, or its last.
    const found = onLine.find(({ value }) => value.to >= head) ?? onLine.at(-1);
    if (found) {
      onToggle(found.value.path);
    }
    return found !== undefined;
  };
  return { extension: field, toggle };
}
