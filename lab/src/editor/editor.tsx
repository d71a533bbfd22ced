// The editor of a scenario.

import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { type Diagnostic, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import {
  EditorView,
  GutterMarker,
  gutterLineClass,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Fault, Pin, Value } from "../engine/protocol";
import { isPinned, isSamePath, pinsOf, togglePin } from "../sliders/pins";
import { usePresentValues } from "../sliders/present-values";
import { assist } from "./assist";
import { type Hover, hover, schemaOf } from "./complete";
import { element, prose } from "./description";
import "./variables.css";
import "./editor.css";
import { tomlColours, tomlLanguage } from "./language";
import { pinButtons, setPinnables } from "./pin-buttons";
import type { JsonSchema } from "./schema";
import { theme } from "./theme";

export interface EditorProps {
  text: string;
  onText: (text: string) => void;
  /** The fault of the text, if there is one. */
  faults: Fault | undefined;
  /** The numbers of the text, or of the one before it. */
  values: Value[];
  /** The numbers that have a slider, if `onPin` is given. Otherwise they are those of the text. */
  pins: Pin[];
  /** Called to pin a number or to unpin it. Without it, `[lab] pins` of the text changes. */
  onPin?: ((pin: Pin) => void) | undefined;
  /** The JSON Schema of scenarios, for completion and descriptions. */
  schema?: JsonSchema | undefined;
  readOnly?: boolean | undefined;
  /** The name for screen readers. Default: "Scenario". */
  label?: string | undefined;
}

/** Marks a change that came from the page, which it need not hear of. */
const isFromPage = Annotation.define<boolean>();

export function Editor(props: EditorProps) {
  const { text, faults, readOnly = false, label = "Scenario" } = props;
  // The page has the pins of the text only after a check.
  const pins = useMemo(() => (props.onPin ? props.pins : pinsOf(text)), [props.onPin, props.pins, text]);
  const values = usePresentValues(text, props.values);
  const latest = useRef(props);
  latest.current = { ...props, values, pins };
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const setting = useMemo(() => new Compartment(), []);
  const [about, setAbout] = useState<Hover | undefined>(undefined);

  useLayoutEffect(() => {
    if (!host.current) {
      return;
    }
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const toggle = (path: string) => {
      const { onPin, onText } = latest.current;
      const pin = latest.current.pins.find(one => isSamePath(latest.current.text, one.key, path)) ?? bare(path);
      if (onPin) {
        onPin(pin);
      } else {
        onText(togglePin(latest.current.text, pin));
      }
    };
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: text,
        extensions: [
          extensions(toggle, () => knowledge(latest.current)),
          setting.of(settings(label, readOnly)),
          EditorView.updateListener.of(update => {
            if (update.docChanged && !update.transactions.every(one => one.annotation(isFromPage))) {
              latest.current.onText(update.state.doc.toString());
            }
            if (update.docChanged || update.selectionSet || update.focusChanged) {
              setAbout(update.view.hasFocus ? aboutCursor(update.state, latest.current.schema) : undefined);
            }
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      view.current = undefined;
      made.destroy();
    };
  }, []);

  useLayoutEffect(() => {
    view.current?.dispatch({ effects: setting.reconfigure(settings(label, readOnly)) });
  }, [setting, label, readOnly]);

  useLayoutEffect(() => {
    if (text.includes("\r")) {
      // The view has line feeds only. The page takes them over, so that places in its text are places here.
      latest.current.onText(text.replace(/\r\n?/g, "\n"));
      return;
    }
    const change = view.current && difference(view.current.state.doc.toString(), text);
    if (change) {
      view.current?.dispatch({ changes: change, annotations: isFromPage.of(true) });
    }
  }, [text]);

  useLayoutEffect(() => {
    const hasPin = isPinned(text, pins);
    const pinnables = values.map(value => ({ value, isPinned: hasPin(value) }));
    view.current?.dispatch({ effects: setPinnables.of(pinnables) });
  }, [values, pins, text]);

  useLayoutEffect(() => {
    if (view.current) {
      const { state } = view.current;
      const found = diagnostics(faults, state.doc.length);
      view.current.dispatch(setDiagnostics(state, found), { effects: setFaultLine.of(found[0]?.from) });
    }
  }, [faults]);

  const showFault = () => {
    if (view.current && faults?.span) {
      const { length } = view.current.state.doc;
      const selection = { anchor: Math.min(faults.span.from, length), head: Math.min(faults.span.to, length) };
      view.current.dispatch({ selection, scrollIntoView: true });
      view.current.focus();
    }
  };

  return (
    <div class="editor">
      <div class="editor-view" ref={host} />
      <FaultLine fault={faults} text={text} onShow={showFault} />
      {!faults && (
        <p class="editor-about">
          {about ? (
            <About hover={about} />
          ) : (
            <span class="editor-keys">
              <kbd>Ctrl</kbd>+<kbd>Space</kbd> proposals · <kbd>Alt</kbd>+<kbd>Enter</kbd> slider · <kbd>Tab</kbd>{" "}
              leaves
            </span>
          )}
        </p>
      )}
    </div>
  );
}

function bare(key: string): Pin {
  return { key, from: undefined, to: undefined, label: undefined };
}

function knowledge({ schema, values, pins, text }: EditorProps) {
  const hasPin = isPinned(text, pins);
  return {
    schema: schema && schemaOf(schema),
    paths: values.filter(value => !hasPin(value)).map(value => value.path),
  };
}

function aboutCursor(state: EditorState, schema: JsonSchema | undefined): Hover | undefined {
  return schema && hover(state.doc.toString(), state.selection.main.head, schemaOf(schema));
}

function extensions(toggle: (path: string) => void, known: () => ReturnType<typeof knowledge>) {
  const pins = pinButtons(toggle);
  return [
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    faultLine,
    history(),
    bracketMatching(),
    closeBrackets(),
    EditorView.lineWrapping,
    tomlLanguage,
    tomlColours,
    theme,
    pins.extension,
    assist(known),
    // Tab has no command: it leaves the editor.
    keymap.of([
      { key: "Alt-Enter", run: pins.toggle, preventDefault: true },
      ...closeBracketsKeymap,
      // Ctrl+Enter is the page's: it runs the scenario.
      ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      { key: "F8", run: nextDiagnostic },
    ]),
  ];
}

function settings(label: string, readOnly: boolean) {
  return [
    EditorState.readOnly.of(readOnly),
    // Browsers give the text the focus without `tabindex`; checkers of accessibility want to see it.
    EditorView.contentAttributes.of({
      "aria-label": label,
      tabindex: "0",
      spellcheck: "false",
      autocapitalize: "off",
    }),
  ];
}

/** The part of a text that differs, so that the cursor and the history stay. */
function difference(before: string, after: string): { from: number; to: number; insert: string } | undefined {
  if (before === after) {
    return undefined;
  }
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) {
    start += 1;
  }
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) {
    end += 1;
  }
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) };
}

function diagnostics(fault: Fault | undefined, length: number): Diagnostic[] {
  if (!fault?.span) {
    return [];
  }
  const from = Math.min(fault.span.from, length);
  const to = Math.min(Math.max(fault.span.to, from), length);
  return [{ from, to, severity: "error", message: faultText(fault), renderMessage: () => describeFault(fault) }];
}

function describeFault({ message, label, help }: Fault): HTMLElement {
  const about = element("div", "about fault", element("div", "fault-message", ...prose(message)));
  if (label) {
    about.append(element("p", "", ...prose(label)));
  }
  if (help) {
    about.append(element("p", "about-default", ...prose(help)));
  }
  return about;
}

function faultText({ message, label, help }: Fault): string {
  return [message, label, help].filter(part => part).join(". ");
}

const setFaultLine = StateEffect.define<number | undefined>();

class FaultLineMarker extends GutterMarker {
  override elementClass = "fault-line";
}

const marker = new FaultLineMarker();

/** The number of the faulty line is red. */
const faultLine = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(lines, transaction) {
    const effect = transaction.effects.findLast(one => one.is(setFaultLine));
    if (!effect) {
      return transaction.docChanged ? lines.map(transaction.changes) : lines;
    }
    const at: number | undefined = effect.value;
    return at === undefined ? RangeSet.empty : RangeSet.of(marker.range(transaction.state.doc.lineAt(at).from));
  },
  provide: field => gutterLineClass.from(field),
});

/** How long typing must pause before a screen reader hears of a fault. */
const PAUSE_MS = 900;

function FaultLine({ fault, text, onShow }: { fault: Fault | undefined; text: string; onShow: () => void }) {
  const line = fault?.span && lineOf(text, fault.span.from);
  const message = fault && `${line === undefined ? "" : `Line ${line}: `}${faultText(fault)}`;
  const [spoken, setSpoken] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSpoken(message ?? ""), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [message]);
  return (
    <>
      <p class="editor-spoken" role="status">
        {spoken}
      </p>
      {fault && (
        <div class="editor-fault">
          {line === undefined ? (
            <span class="editor-fault-line">Cannot run</span>
          ) : (
            <button type="button" class="editor-fault-line" onClick={onShow}>
              Line {line}
            </button>
          )}
          <span>
            <Prose text={fault.message} />
            {fault.label && (
              <>
                {": "}
                <Prose text={fault.label} />
              </>
            )}
            {fault.help && (
              <span class="editor-fault-help">
                <Prose text={fault.help} />
              </span>
            )}
          </span>
        </div>
      )}
    </>
  );
}

function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

function About({ hover: { title, type, description, default: given } }: { hover: Hover }) {
  return (
    <>
      <code class="editor-about-key">{title}</code> {type && <span class="editor-about-type">{type}</span>}{" "}
      <Prose text={description} />
      {given !== undefined && <span> Default: {given}.</span>}
    </>
  );
}

function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
