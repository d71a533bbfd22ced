// Turns the stories, written in Markdown and TOML, into data for the page while it is built.
//
// `stories/NAME/story.md` begins with a table in TOML between two lines `---`. Then come an introduction and the steps.
// A step has a heading, paragraphs, one paragraph that begins with `Question:`, a quotation with what there is to see,
// and a block ```step in TOML. `tests/python/lab_stories.py` reads the same files and checks their figures.

import { lexer, type Token, type Tokens } from "marked";
import { getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import type { Plugin } from "vite";
import { valueAt, withValues } from "./scenario-edit.ts";
import type { Content, Step, Story, StoryEntry, Tag } from "./src/stories/story";

const QUESTION = "Question:";

interface StepKeys {
  scenario?: string;
  compare?: string[];
  set?: Record<string, unknown>;
  turn: { key: string; from: string; to: string; label: string };
  show: Step["show"];
  starving?: NonNullable<Step["starving"]>;
}

type Front = { title: string; summary: string; read_on: string; order: number };

function toml(text: string): unknown {
  return getStaticTOMLValue(parseTOML(text));
}

function inTag(tag: Tag, tokens: readonly Token[] | undefined): Content {
  return { tag, children: (tokens ?? []).map(contentOf) };
}

/** A token as an element. Stories are ours, and still no text becomes markup at run time. */
function contentOf(token: Token): Content {
  switch (token.type) {
    case "paragraph":
      return inTag("p", token.tokens);
    case "em":
      return inTag("em", token.tokens);
    case "strong":
      return inTag("strong", token.tokens);
    case "list":
      return {
        tag: token.ordered ? "ol" : "ul",
        children: (token as Tokens.List).items.map(it => inTag("li", it.tokens)),
      };
    case "codespan":
      return { tag: "code", children: [unescaped(token.text)] };
    case "text":
      return token.tokens ? { tag: "span", children: token.tokens.map(contentOf) } : unescaped(token.text);
    case "escape":
      return token.text;
    default:
      throw new Error(`a story has no ${token.type}: ${token.raw}`);
  }
}

/** Line ends of the source are spaces. */
function unescaped(text: string): string {
  return text.replaceAll("\n", " ");
}

/** Splits `Question: …` from the rest of its paragraph. */
function withoutWord(content: Content[]): Content[] {
  const [first, ...rest] = content;
  return typeof first === "string" ? [first.slice(QUESTION.length).trimStart(), ...rest] : content;
}

function stepOf(tokens: readonly Token[], scenarios: ReadonlyMap<string, string>): Step {
  const [heading, ...body] = tokens.filter(it => it.type !== "space");
  const text: Content[] = [];
  const see: Content[] = [];
  let question: Content[] | undefined;
  let keys: StepKeys | undefined;
  for (const token of body) {
    if (token.type === "code" && token.lang === "step") {
      keys = toml(token.text) as StepKeys;
    } else if (token.type === "blockquote") {
      see.push(...(token.tokens ?? []).filter(it => it.type !== "space").map(contentOf));
    } else if (token.raw.startsWith(QUESTION)) {
      question = withoutWord((token as Tokens.Paragraph).tokens.map(contentOf));
    } else {
      text.push(contentOf(token));
    }
  }
  const title = (heading as Tokens.Heading).text;
  if (!keys || !question || see.length === 0) {
    throw new Error(`${title}: a step has a question, a quotation with what there is to see, and a block \`step\``);
  }
  const file = keys.scenario ?? "scenario.toml";
  const scenario = scenarios.get(file);
  if (scenario === undefined) {
    throw new Error(`${title}: there is no ${file}`);
  }
  const changed = withValues(scenario, keys.set ?? {});
  if (valueAt(changed, keys.turn.key) === undefined) {
    throw new Error(`${title}: the scenario has no ${keys.turn.key}`);
  }
  const { turn, show, starving } = keys;
  const step = { title, text, question, see, scenario: changed, compare: keys.compare ?? [], turn, show };
  return starving ? { ...step, starving } : step;
}

function partsOf(text: string): { front: Front; body: string } {
  const [before, front, ...body] = text.split(/^---\n/m);
  if (before !== "" || front === undefined || body.length === 0) {
    throw new Error("a story begins with a table between two lines ---");
  }
  return { front: toml(front) as Front, body: body.join("---\n") };
}

/** Splits tokens before each heading. */
function sectionsOf(tokens: readonly Token[]): Token[][] {
  const sections: Token[][] = [[]];
  for (const token of tokens) {
    if (token.type === "heading") {
      sections.push([]);
    }
    sections.at(-1)?.push(token);
  }
  return sections;
}

/** Reads a story. `scenarios` has the texts of the files that its steps may name. */
export function readStory(name: string, text: string, scenarios: ReadonlyMap<string, string>): Story {
  const { front, body } = partsOf(text);
  const [intro = [], ...steps] = sectionsOf(lexer(body));
  return {
    name,
    title: front.title,
    summary: front.summary,
    readOn: front.read_on,
    intro: intro.filter(it => it.type !== "space").map(contentOf),
    steps: steps.map(it => stepOf(it, scenarios)),
  };
}

/** Reads what a list of stories shows. */
export function readEntry(name: string, text: string): StoryEntry {
  const { front, body } = partsOf(text);
  const steps = sectionsOf(lexer(body))
    .slice(1)
    .map(it => (it[0] as Tokens.Heading).text);
  return { name, title: front.title, summary: front.summary, order: front.order, steps };
}

const FILE = /\/stories\/([\w-]+)\/story\.md$/;
/** Files that a story's steps name: all TOML files of its folder that appear in it. */
const NAMED = /^scenario = "([\w-]+\.toml)"$/gm;

/** `import story from ".../story.md"` is a story, and with `?entry` after it only what a list shows. */
export function stories(): Plugin {
  return {
    name: "stories",
    enforce: "pre",
    async transform(code, id) {
      const [path = "", query] = id.split("?");
      const name = FILE.exec(path)?.[1];
      if (name === undefined || query === "raw") {
        return null;
      }
      if (query === "entry") {
        return { code: `export default ${JSON.stringify(readEntry(name, code))};`, map: null, moduleType: "js" };
      }
      const files = new Set(["scenario.toml", ...[...code.matchAll(NAMED)].map(it => it[1] as string)]);
      const scenarios = new Map<string, string>();
      for (const file of files) {
        const place = path.replace(/story\.md$/, file);
        this.addWatchFile(place);
        scenarios.set(file, await this.fs.readFile(place, { encoding: "utf8" }));
      }
      return {
        code: `export default ${JSON.stringify(readStory(name, code, scenarios))};`,
        map: null,
        moduleType: "js",
      };
    },
  };
}
