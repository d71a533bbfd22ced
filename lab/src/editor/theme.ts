// The look of the editor in its shadow root. Colours are variables of the page (editor.css).

import { EditorView } from "@codemirror/view";

const MONOSPACE = "var(--mono, ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace)";

export const theme = EditorView.theme({
  "&": {
    height: "100%",
    color: "var(--code-text)",
    backgroundColor: "var(--code-background)",
    fontSize: "var(--code-size, 13px)",
  },
  // The page draws the outline (editor.css): here, line numbers would cover it.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: MONOSPACE, lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--code-accent)" },
  // Lines that are wrapped go on with an indentation.
  ".cm-line": { padding: "0 10px 0 calc(6px + 2ch)", textIndent: "-2ch" },
  ".cm-gutters": {
    color: "var(--code-faint)",
    backgroundColor: "var(--code-background)",
    border: "none",
    fontVariantNumeric: "tabular-nums",
    userSelect: "none",
  },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.6em", padding: "0 6px 0 8px" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--code-line)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--code-text)" },
  ".cm-gutterElement.fault-line": { color: "var(--code-fault)", fontWeight: "700" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--code-match)",
    outline: "1px solid var(--code-edge)",
  },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent" },
  ".cm-selectionMatch": { backgroundColor: "var(--code-match)" },
  ".cm-searchMatch": { backgroundColor: "var(--code-match)", outline: "1px solid var(--code-edge)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--code-selected)" },

  // The default underline is an image in a data: address, which the page's policy refuses.
  ".cm-lintRange-error": {
    backgroundImage: "none",
    paddingBottom: "0",
    textDecoration: "underline wavy var(--code-fault)",
    textDecorationSkipInk: "none",
    textUnderlineOffset: "0.25em",
    backgroundColor: "var(--code-fault-ground)",
  },
  ".cm-lintRange-active": { backgroundColor: "var(--code-fault-ground)" },
  ".cm-lintPoint:after": { borderBottomColor: "var(--code-fault)" },

  ".pin-button": {
    all: "unset",
    boxSizing: "border-box",
    display: "inline-block",
    width: "1.6em",
    height: "1.35em",
    padding: "0 0.2em",
    verticalAlign: "middle",
    textIndent: "0",
    borderRadius: "4px",
    cursor: "pointer",
    color: "var(--code-faint)",
  },
  ".pin-button:hover": { backgroundColor: "var(--code-match)", color: "var(--code-accent)" },
  ".pin-button:focus-visible": { outline: "2px solid var(--code-accent)" },
  ".pin-button[aria-pressed=true]": { color: "var(--code-accent)" },
  ".pin-button svg": { display: "block", width: "100%", height: "100%", overflow: "visible" },
  ".pin-button .pin-line": { stroke: "currentColor", strokeWidth: "1.5", fill: "none" },
  ".pin-button circle": { stroke: "currentColor", strokeWidth: "1.5", fill: "var(--code-background)" },
  ".pin-button[aria-pressed=true] circle": { fill: "currentColor" },

  ".cm-tooltip": {
    color: "var(--code-text)",
    backgroundColor: "var(--code-panel)",
    border: "1px solid var(--code-edge)",
    borderRadius: "6px",
    boxShadow: "0 4px 16px rgb(0 0 0 / 0.2)",
    maxWidth: "min(30rem, calc(100vw - 16px))",
    zIndex: "20",
  },
  ".cm-tooltip-section:not(:first-child)": { borderTop: "1px solid var(--code-edge)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: MONOSPACE,
    maxHeight: "16em",
    minWidth: "14em",
    maxWidth: "min(30rem, calc(100vw - 24px))",
    padding: "4px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 6px", borderRadius: "4px", lineHeight: "1.5" },
  ".cm-tooltip-autocomplete ul li[aria-selected], .cm-tooltip-autocomplete-disabled ul li[aria-selected]": {
    color: "var(--code-text)",
    backgroundColor: "var(--code-selected)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--code-accent)", fontWeight: "600" },
  ".cm-completionDetail": { color: "var(--code-faint)", fontStyle: "normal", float: "right" },
  ".cm-tooltip.cm-completionInfo": { padding: "0", maxWidth: "none", boxSizing: "border-box" },
  ".about": {
    padding: "7px 10px",
    fontSize: "13px",
    lineHeight: "1.45",
    fontFamily: "var(--sans, system-ui, sans-serif)",
  },
  ".about p": { margin: "4px 0 0" },
  ".about > :first-child": { marginTop: "0" },
  ".about code": { fontFamily: MONOSPACE, fontSize: "0.94em" },
  ".about-head strong": { fontFamily: MONOSPACE },
  ".about-type, .about-default": { color: "var(--code-faint)" },

  ".cm-diagnostic": { padding: "0", borderLeft: "3px solid var(--code-fault)", whiteSpace: "normal" },
  ".fault .fault-message": { fontWeight: "600" },

  ".cm-panels": {
    color: "var(--code-text)",
    backgroundColor: "var(--code-panel)",
    fontFamily: "var(--sans, system-ui, sans-serif)",
  },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--code-edge)" },
  ".cm-panel.cm-search": { padding: "6px 28px 6px 8px", fontSize: "13px" },
  ".cm-panel.cm-search label": { fontSize: "13px" },
  ".cm-textfield": {
    color: "inherit",
    backgroundColor: "var(--code-background)",
    border: "1px solid var(--code-edge)",
    borderRadius: "4px",
    padding: "3px 6px",
    fontSize: "13px",
  },
  ".cm-button": {
    color: "inherit",
    backgroundImage: "none",
    backgroundColor: "var(--code-background)",
    border: "1px solid var(--code-edge)",
    borderRadius: "4px",
    padding: "3px 8px",
    fontSize: "13px",
  },
  ".cm-button:active": { backgroundImage: "none" },
  ".cm-panel.cm-search [name=close]": { color: "inherit", fontSize: "18px", top: "2px", right: "6px" },
});
