// A Jupyter notebook that runs the scenario with Forebay's Python package.

import { entryOf, type Node, parse, type Table } from "../editor/toml";
import { tomlValue } from "./command";
import { fileStem, rootText, type Shared } from "./shared";

interface Cell {
  cell_type: "markdown" | "code";
  id: string;
  metadata: Record<string, never>;
  source: string[];
  execution_count?: null;
  outputs?: never[];
}

/** The notebook as JSON, in the format 4.5 of Jupyter. */
export function notebookOf(shared: Shared): string {
  const cells = shared.queues.length > 0 ? comparison(shared) : singleRun(shared);
  const notebook = {
    cells: [...opening(shared), ...cells],
    metadata: {
      kernelspec: { display_name: "Python 3 (ipykernel)", language: "python", name: "python3" },
      language_info: { name: "python" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
  return `${JSON.stringify(notebook, undefined, 1)}\n`;
}

function opening({ text, overrides = [] }: Shared): Cell[] {
  const title = rootText(text, "name") ?? "A scenario";
  const description = rootText(text, "description");
  const values = overrides.map(([path, value]) => `    ${python(path)}: ${pythonValue(value)},\n`);
  const changes = values.length > 0 ? `\nscenario = scenario.override({\n${values.join("")}})` : "";
  const file = `${fileStem(text)}.toml`;
  return [
    markdown(
      "title",
      `# ${markup(title)}\n${description === undefined ? "" : `\n${markup(description)}\n`}\nThe notebook needs the Python package \`forebay\`.`,
    ),
    code("import", "import forebay as fb"),
    markdown("scenario-text", "## The scenario\n\nThe output is the scenario with its values in their usual form."),
    code(
      "scenario",
      `scenario = fb.Scenario.from_toml(\n    ${pythonText(text)},\n    ${python(file)},\n)${changes}\nscenario`,
    ),
  ];
}

function singleRun({ text, seed }: Shared): Cell[] {
  const seeded = seed === undefined ? "" : `, seed=${seed}`;
  const recorded = series(text);
  const figures = [code("goodput", "result.plot.goodput()"), code("delay", "result.plot.delay_distribution()")];
  if (recorded.includes("queues")) {
    figures.push(code("queues", 'result.plot.series("queue", quantity="length_packets")'));
  }
  if (recorded.includes("flows")) {
    figures.push(code("flows", 'result.plot.series("flow", quantity="goodput_bps")'));
  }
  return [
    markdown("run-text", "## Run it\n\nThe tables of flows, queues and links leave out the warm-up."),
    code("run", `result = fb.run(scenario${seeded})\nresult`),
    markdown("figures-text", "## Figures"),
    ...figures,
    markdown(
      "seeds-text",
      "## Other seeds\n\nA single run is one draw. Means over several seeds have half their 95 % confidence interval in `…_ci95`.",
    ),
    code("seeds", "fb.run(scenario, seeds=5).flows"),
  ];
}

function comparison({ queues, at, seed }: Shared): Cell[] {
  const names = queues.map(queue => python(queue)).join(", ");
  const place = at === undefined ? "" : `    at=${python(at)},\n`;
  const seeded = seed === undefined ? "" : `    overrides={"seed": ${seed}},\n`;
  return [
    markdown(
      "compare-text",
      "## Compare\n\nThe same traffic under each queue. Each number is a mean over the seeds, and `±` is half its 95 % confidence interval.",
    ),
    code(
      "compare",
      `compared = fb.compare(\n    scenario,\n    [${names}],\n${place}${seeded}    seeds=3,\n)\ncompared`,
    ),
    code("compare-figure", "compared.plot()"),
    markdown("groups-text", "`groups` has the numbers of each group of flows."),
    code("groups", 'compared.groups.select("queue", "group", "goodput_bps", "loss", "delay_p99_s")'),
  ];
}

/** The kinds of time series that the scenario records. */
function series(text: string): string[] {
  const probes = entryOf(parse(text).root, "probes")?.node;
  if (probes?.kind !== "table") {
    return [];
  }
  const list = entryOf(probes, "series")?.node;
  const kinds = list?.kind === "list" ? list.items.map(item => (item.kind === "scalar" ? item.value : "")) : undefined;
  return kinds ?? ["queues", "flows", "links"];
}

function markdown(id: string, text: string): Cell {
  return { cell_type: "markdown", id, metadata: {}, source: lines(text) };
}

function code(id: string, text: string): Cell {
  return { cell_type: "code", execution_count: null, id, metadata: {}, outputs: [], source: lines(text) };
}

function lines(text: string): string[] {
  return text.split(/(?<=\n)/);
}

/** Text in Markdown that stays text: names may have markup. */
function markup(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_{}[\]<>()#+!|~$&-]/g, character => `\\${character}`);
}

/** A string of Python. */
function python(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

/** A long string of Python, which shows the scenario as it is in its file. */
function pythonText(text: string): string {
  const body = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"""', '\\"\\"\\"')
    .replace(/"$/, '\\"')
    .replaceAll("\r", "\\r")
    .replaceAll("\0", "\\x00");
  return `"""\\\n${body}"""`;
}

function pythonValue(value: string): string {
  const node = tomlValue(value);
  return node === undefined ? python(value) : pythonNode(node);
}

function pythonNode(node: Node): string {
  if (node.kind === "table") {
    return `{${entriesOf(node)}}`;
  }
  if (node.kind === "list") {
    return `[${node.items.map(item => pythonNode(item)).join(", ")}]`;
  }
  switch (node.type) {
    case "number":
      return node.value.replace(/^\+/, "");
    case "boolean":
      return node.value === "true" ? "True" : "False";
    default:
      // Text that is no TOML is a string, as after `--set`.
      return python(node.value);
  }
}

function entriesOf(table: Table): string {
  return table.entries.map(entry => `${python(entry.key)}: ${pythonNode(entry.node)}`).join(", ");
}
