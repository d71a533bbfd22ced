// Colours for TOML. The parser reads line by line; only strings of three quotes, lists and inline tables go on.

import { HighlightStyle, StreamLanguage, type StreamParser, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

interface State {
  /** The quotes of a string that has begun; empty outside of one. */
  quotes: string;
  /** The brackets that are open. */
  open: string[];
  /** Whether a key is expected: at the start of a line, and in braces. */
  isKey: boolean;
}

const NUMBER = /^[+-]?(0x[\da-fA-F_]+|0o[0-7_]+|0b[01_]+|inf\b|nan\b|\d[\d_]*(\.[\d_]+)?([eE][+-]?[\d_]+)?)(?![\w-])/;

const parser: StreamParser<State> = {
  name: "toml",
  startState: () => ({ quotes: "", open: [], isKey: true }),
  copyState: state => ({ ...state, open: [...state.open] }),
  token(stream, state) {
    if (stream.sol() && state.quotes === "" && state.open.length === 0) {
      state.isKey = true;
    }
    if (state.quotes !== "") {
      readLongString(stream, state);
      return "string";
    }
    if (stream.eatSpace()) {
      return null;
    }
    if (stream.match(/^#.*/)) {
      return "comment";
    }
    if (state.open.length === 0 && state.isKey && stream.match(/^\[\[?[^\]#]*\]{0,2}/)) {
      return "heading";
    }
    const style = state.isKey ? keyToken(stream, state) : valueToken(stream, state);
    if (style === undefined) {
      stream.next();
      return null;
    }
    return style;
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["[", "{", '"'] } },
};

type Stream = Parameters<StreamParser<State>["token"]>[0];

function keyToken(stream: Stream, state: State): string | null | undefined {
  if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'[^']*'?|^[^\s=.[\]{},#"']+/)) {
    return "propertyName";
  }
  if (stream.match("=")) {
    state.isKey = false;
    return "operator";
  }
  return bracket(stream, state);
}

function valueToken(stream: Stream, state: State): string | null | undefined {
  if (stream.match('"""') || stream.match("'''")) {
    state.quotes = stream.current();
    readLongString(stream, state);
    return "string";
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?|^'[^']*'?/)) {
    return "string";
  }
  if (stream.match(/^(true|false)\b/)) {
    return "bool";
  }
  if (stream.match(NUMBER)) {
    return "number";
  }
  return bracket(stream, state);
}

function bracket(stream: Stream, state: State): string | null | undefined {
  const character = stream.next();
  if (character === "[" || character === "{") {
    state.open.push(character);
    state.isKey = character === "{";
    return "bracket";
  }
  if (character === "]" || character === "}") {
    state.open.pop();
    state.isKey = false;
    return "bracket";
  }
  if (character === ",") {
    state.isKey = state.open.at(-1) === "{";
    return "punctuation";
  }
  return character === "." ? "punctuation" : null;
}

function readLongString(stream: Stream, state: State): void {
  while (!stream.eol()) {
    if (stream.match(state.quotes)) {
      state.quotes = "";
      return;
    }
    if (stream.next() === "\\" && state.quotes.startsWith('"')) {
      stream.next();
    }
  }
}

/** Colours are variables of the page, so that its themes hold here. */
const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)" },
  { tag: tags.heading, color: "var(--code-section)", fontWeight: "600" },
  { tag: tags.propertyName, color: "var(--code-key)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.bool], color: "var(--code-number)" },
  { tag: [tags.operator, tags.punctuation, tags.bracket], color: "var(--code-punctuation)" },
]);

export const tomlLanguage = StreamLanguage.define(parser);
export const tomlColours = syntaxHighlighting(colours);
