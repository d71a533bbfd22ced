// Completion and hover in CodeMirror.

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  startCompletion,
} from "@codemirror/autocomplete";
import type { EditorState, Extension } from "@codemirror/state";
import { type EditorView, hoverTooltip } from "@codemirror/view";
import { complete, hover, type Proposal } from "./complete";
import { describeHover, describeProposal } from "./description";
import type { Schema } from "./schema";
import { parse, slotAt } from "./toml";

/** What the editor knows beyond its text. */
export interface Knowledge {
  schema: Schema | undefined;
  paths: string[];
}

export function assist(knowledge: () => Knowledge): Extension {
  const proposalsAt = (state: EditorState, position: number) => {
    const { schema, paths } = knowledge();
    return schema && complete(state.doc.toString(), position, schema, paths);
  };

  const source = (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const slot = slotAt(parse(text), context.pos);
    if (!slot || (!context.explicit && !isInvited(text, context.pos))) {
      return null;
    }
    const found = proposalsAt(context.state, context.pos);
    if (!found) {
      return null;
    }
    // What is typed after the quote is compared with the labels.
    const isText = slot.kind === "value" && slot.scalar?.type === "string";
    const from = Math.min(context.pos, found.from + (isText ? 1 : 0));
    const options = found.proposals.map((proposal, index) => option(proposal, index));
    const typed = context.state.sliceDoc(from, context.pos);
    const isDone = options.length > 0 && options.every(one => one.label === typed || !one.label.startsWith(typed));
    if (!context.explicit && isDone && options.some(one => one.label === typed)) {
      return null;
    }
    return { from, options };
  };

  const option = (proposal: Proposal, index: number): Completion => ({
    label: proposal.label,
    type: proposal.kind,
    ...(proposal.required ? { detail: "required" } : {}),
    info: () => describeProposal(proposal),
    // In the order of the schema, the required ones first.
    boost: (proposal.required ? 30 : 0) + (proposal.kind === "section" ? -40 : 0) - Math.min(index, 250) / 10,
    apply: (view, _, from, to) => {
      const now = proposalsAt(view.state, view.state.selection.main.head) ?? { from, to };
      view.dispatch({
        changes: { from: now.from, to: now.to, insert: proposal.insert },
        selection: { anchor: now.from + proposal.select.from, head: now.from + proposal.select.to },
        userEvent: "input.complete",
        scrollIntoView: true,
      });
      if (proposal.continues) {
        startCompletion(view);
      }
    },
  });

  const tooltips = hoverTooltip(
    (view, position) => {
      const { schema } = knowledge();
      const found = schema && hover(view.state.doc.toString(), position, schema);
      return found
        ? { pos: found.from, end: found.to, above: true, create: () => ({ dom: describeHover(found) }) }
        : null;
    },
    { hideOnChange: true },
  );

  return [autocompletion({ override: [source], icons: false, maxRenderedOptions: 200, positionInfo }), tooltips];
}

interface Rectangle {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The description of the selected proposal: to the right of the list, or below it where there is no room. */
function positionInfo(_: EditorView, list: Rectangle, option: Rectangle, info: Rectangle, space: Rectangle) {
  const gap = 4;
  const width = Math.min(340, space.right - space.left - 2 * gap);
  if (list.right + gap + width <= space.right) {
    const height = info.bottom - info.top;
    const top = Math.max(space.top, Math.min(option.top, space.bottom - height)) - list.top;
    return { style: `left: ${list.right - list.left + gap}px; top: ${top}px; width: ${width}px` };
  }
  const left = Math.max(space.left + gap, Math.min(list.left, space.right - width - gap)) - list.left;
  const isAbove =
    space.bottom - list.bottom < info.bottom - info.top && list.top - space.top > space.bottom - list.bottom;
  const vertical = isAbove ? "bottom" : "top";
  return { style: `left: ${left}px; ${vertical}: ${list.bottom - list.top + gap}px; width: ${width}px` };
}

/** Whether the list should open by itself: behind a letter, or where a key or a value begins. */
function isInvited(text: string, position: number): boolean {
  const slot = slotAt(parse(text), position);
  const before = text[position - 1] ?? "";
  if (!slot || slot.kind === "comment") {
    return false;
  }
  if (slot.kind === "value" && slot.scalar?.type === "string") {
    return !slot.scalar.closed || position < slot.scalar.to;
  }
  if (slot.word !== "") {
    return /[\w-]/.test(before);
  }
  return slot.within === "line" && slot.kind === "key" ? before === "." : /[.{[\s,=]/.test(before) && before !== "\n";
}
