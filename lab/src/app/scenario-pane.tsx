// The scenario: its text, its sliders and what is handed on.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import "../editor/editor.css";
import { ShareMenu } from "../share/share-menu";
import { Sliders } from "../sliders/sliders";
import { schema } from "./choices";
import { Editor } from "./parts";
import type { Change, Session } from "./session";

interface PaneProps {
  session: Session;
  /** Whether the editor is open, and sliders can be added. */
  isFull: boolean;
  onText: ((text: string) => void) | undefined;
  /** Shown above the editor. */
  children: ComponentChildren;
}

export function ScenarioPane({ session, isFull, onText, children }: PaneProps) {
  const isEditorOpen = useSignal(isFull);
  const change = (kind: Change) => (changed: string) => {
    session.setText(changed, kind);
    onText?.(changed);
  };
  const editor = (
    <div class="editor-frame">
      <Editor
        text={session.text.value}
        onText={change("typed")}
        faults={session.fault.value}
        values={session.values.value}
        pins={session.pins.value}
        schema={schema.value}
      />
    </div>
  );
  const sliders = (isFull || session.pins.value.length > 0) && (
    <Sliders
      values={session.values.value}
      pins={session.pins.value}
      text={session.text.value}
      onText={change("dragged")}
      isFixed={!isFull}
      schema={schema.value}
    />
  );
  if (isFull) {
    return (
      <section class="lab-side" aria-label="Scenario">
        <div class="side-head">
          {children}
          <ShareMenu shared={() => session.shared()} />
        </div>
        <Overrides session={session} />
        {sliders}
        {editor}
      </section>
    );
  }
  return (
    <section class="lab-side" aria-label="Scenario">
      {sliders}
      <details
        class="editor-fold"
        onToggle={event => {
          isEditorOpen.value = event.currentTarget.open;
        }}
      >
        <summary>Scenario</summary>
        {isEditorOpen.value && editor}
      </details>
    </section>
  );
}

/** Values that a link brought with it: they replace those of the text. */
function Overrides({ session }: { session: Session }) {
  const overrides = session.overrides.value;
  if (overrides.length === 0) {
    return null;
  }
  return (
    <ul class="overrides" aria-label="Values that replace those of the text">
      {overrides.map(([path, value]) => (
        <li key={path}>
          <code>
            {path} = {value}
          </code>
          <button
            type="button"
            class="icon"
            aria-label={`Remove ${path}`}
            onClick={() => {
              session.overrides.value = overrides.filter(([other]) => other !== path);
            }}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
