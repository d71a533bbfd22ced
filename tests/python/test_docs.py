"""The code blocks of the README and the documentation are run, in the order of the page, in a folder of the page's own.

A fence says after its language what its block is:

- ```` ```toml NAME.toml ```` is a scenario, kept under that name for the blocks that follow;
- ```` ```toml ```` is a scenario too, under a name of its own;
- ```` ```toml NAME.toml python ```` is a scenario that names Python code, which is allowed;
- ```` ```toml fragment ```` replaces what it names in the page's first scenario; the result must be a scenario;
- ```` ```toml invalid ```` is refused; with `NAME.toml` after it, it is kept for the blocks that follow;
- ```` ```toml comment ```` is TOML, and only shown;
- ```` ```python ```` is run, with what earlier blocks of the page defined; with `NAME.py` after it, it is kept under
  that name as well;
- ```` ```output ```` is what the Python block before it printed;
- ```` ```console ```` holds commands after `$`, each with what it prints below it, or with nothing below it where that
  is not worth showing. A line that ends with a backslash continues on the next. Each command must succeed, unless
  `$ echo $?` follows, with its exit status below.

The shown output is compared with that at a terminal of 100 columns. `...` alone on a line matches one or more lines,
and within a line any text: values that vary from run to run, such as times, and parts that the page leaves out. Results
do not vary.

    FOREBAY_GOLDEN_UPDATE=1 pytest tests/python/test_docs.py

writes what changed into the pages, with `...` where it was. To show the output of a new command, put a line with `?`
below it first.

Other languages (`sh`, `rust`, plain) are only shown: commands that build the project or take long, and fragments.
"""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest
import tomli_w

import forebay as fb
from shown_output import difference, lines_of, matches, updated

ROOT = Path(__file__).resolve().parents[2]
FOREBAY = Path(sys.executable).with_name("forebay")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/index.md",
    *(page for folder in ("guide", "concepts", "reference") for page in sorted(ROOT.glob(f"docs/{folder}/*.md"))),
]
ONLY_SHOWN = ("", "sh", "rust", "json")
FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)\s]*)?\)")


UPDATE = "FOREBAY_GOLDEN_UPDATE" in os.environ
# The environment that rich takes for a terminal of 100 columns without colours and animations.
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100", "LINES": "40"}
SUCCEEDED = 0


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    tag: str
    body: str
    line: int
    start: int
    """Where its body begins in the text of the page."""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for match in FENCE.finditer(text):
        language, _, tag = match["info"].strip().partition(" ")
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(language, tag.strip(), match["body"], line, match.start("body")))
    return blocks


@dataclass
class Step:
    """A command of a console block: its lines, and the lines shown below it."""

    lines: list[str]
    shown: list[str]

    @property
    def command(self) -> str:
        return " ".join(line.removesuffix("\\").strip() for line in self.lines).removeprefix("$ ")


def steps_of(body: str) -> list[Step]:
    steps: list[Step] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append(Step([line], []))
            continue
        assert steps, "a console block has to begin with `$ `"
        if not steps[-1].shown and steps[-1].lines[-1].endswith("\\"):
            steps[-1].lines.append(line)
        else:
            steps[-1].shown.append(line)
    return steps


class Page:
    """Runs the blocks of one page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = ""
        self.names: dict[str, object] = {"__name__": "page"}
        self.printed: str | None = None
        (folder / "examples").symlink_to(ROOT / "examples")

    def run(self, block: Block) -> str:
        """Runs the block. Returns its expected body: itself, unless the pages are being updated."""
        match block.language:
            case "toml":
                self.validate(block)
            case "python":
                self.keep(block.tag, block.body)
                self.interpret(block.body)
            case "output":
                assert self.printed is not None, "no Python block stands before the output"
                printed, self.printed = self.printed, None
                return text_of(compared(lines_of(block.body), lines_of(printed)))
            case "console":
                return self.execute(block.body)
        return block.body

    def validate(self, block: Block) -> None:
        match block.tag.partition(" "):
            case ("comment", _, _):
                tomllib.loads(block.body)
            case ("invalid", _, name):
                with pytest.raises(fb.ScenarioError):
                    fb.Scenario.from_toml(block.body)
                self.keep(name, block.body)
            case ("fragment", _, _):
                self.simulate(tomli_w.dumps(tomllib.loads(self.scenario) | tomllib.loads(block.body)))
            case (name, _, "python"):
                self.keep(name, block.body)
                assert fb.run(self.folder / name, allow_python=True).flows.height > 0
            case (name, _, _):
                self.scenario = self.scenario or block.body
                self.keep(name, block.body)
                self.simulate(block.body)

    def keep(self, name: str, text: str) -> None:
        if name:
            (self.folder / name).write_text(text, encoding="utf-8")

    def simulate(self, text: str) -> None:
        result = fb.run(fb.Scenario.from_toml(text), out=self.folder / "out")
        assert result.flows.height > 0

    def interpret(self, program: str) -> None:
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), pl.Config(tbl_width_chars=100):
            exec(compile(program, "page", "exec"), self.names)
        self.printed = printed.getvalue()

    def execute(self, body: str) -> str:
        steps = steps_of(body)
        assert steps, "a console block without a `$ `"
        written: list[str] = []
        status = SUCCEEDED
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            if step.command == "echo $?":
                printed = str(status)
                assert lines_of("\n".join(step.shown)), "nothing is below `$ echo $?`"
            else:
                status, printed = self.call(step.command)
                judged = following is not None and following.command == "echo $?"
                assert judged or status == SUCCEEDED, f"$ {step.command}\n{printed}"
            written += step.lines
            shown = lines_of("\n".join(step.shown))
            if shown:
                written += compared(shown, lines_of(printed))
            written += step.shown[len(shown) :]
        return text_of(written)

    def call(self, line: str) -> tuple[int, str]:
        """The exit status of a command, and what it prints on the terminal."""
        command, arrow, file = line.partition(" > ")
        program, *arguments = shlex.split(command, comments=True)
        assert program == "forebay"
        done = subprocess.run(
            [FOREBAY, *arguments],
            cwd=self.folder,
            env={**os.environ, **({} if arrow else TERMINAL)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if arrow else subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        if arrow:
            (self.folder / file.strip()).write_text(done.stdout, encoding="utf-8")
        return done.returncode, done.stderr if arrow else done.stdout


def compared(shown: list[str], printed: list[str]) -> list[str]:
    """The shown text, which must match the printed one; the new text if the pages are being updated."""
    if UPDATE:
        return updated(shown, printed)
    advice = "if the change is meant: FOREBAY_GOLDEN_UPDATE=1 pytest tests/python/test_docs.py"
    assert matches(shown, printed), f"{advice}\n{difference(shown, printed)}"
    return shown


def text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_run(path: Path, tmp_path: Path) -> None:
    mpl.use("Agg")
    page = Page(tmp_path)
    text = path.read_text(encoding="utf-8")
    after = text
    for block in blocks_of(path):
        try:
            body = page.run(block)
        except BaseException as error:
            error.add_note(f"in the block at {path.relative_to(ROOT)}:{block.line}")
            raise
        start = block.start + len(after) - len(text)
        after = after[:start] + body + after[start + len(block.body) :]
    if after != text:
        path.write_text(after, encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_have_a_known_language(path: Path) -> None:
    known = ("toml", "python", "output", "console", *ONLY_SHOWN)
    strange = [
        block.language
        for block in blocks_of(path)
        if not block.language.startswith(("{", ":")) and block.language not in known
    ]
    assert strange == []


@pytest.mark.parametrize(
    "path",
    [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_somewhere(path: Path) -> None:
    prose = FENCE.sub("", path.read_text(encoding="utf-8"))
    targets = {match["target"] for match in LINK.finditer(prose) if "://" not in match["target"]}
    assert [target for target in sorted(targets) if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.toml")), ids=lambda path: path.stem)
def test_examples_run(path: Path) -> None:
    scenario = fb.Scenario.load(path)
    assert scenario.description
    assert fb.run(scenario, overrides={"duration": "2 s", "warmup": "500 ms"}).flows.height > 0


def test_command_line_page_names_every_option() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    usage = subprocess.run([FOREBAY, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^[│ ]+([a-z-]+) {2,}\S", usage.split("Commands")[1], re.MULTILINE)
    assert "run" in commands
    for command in commands:
        assert re.search(rf"^## .*\b{command}\b", page, re.MULTILINE), f"`{command}` has no section"
        options = subprocess.run([FOREBAY, command, "--help"], capture_output=True, text=True, check=True).stdout
        for option in set(re.findall(r"--[a-z][a-z-]+", options)) - {"--help"}:
            assert option in page, f"`{command} {option}` is not described"


def test_guide_describes_every_key_of_a_scenario() -> None:
    """Each key of the schema, but for those of disciplines, schemes and transports, whose pages are generated."""
    pages = ("write-a-scenario", "variable-links")
    guide = "".join((ROOT / f"docs/guide/{page}.md").read_text(encoding="utf-8") for page in pages)
    schema = json.loads((ROOT / "python/forebay/scenario.schema.json").read_text(encoding="utf-8"))
    generated: set[str] = set()
    names = [
        "QueueSpec",
        "TcpConfig",
        "UecConfig",
        "NdpConfig",
        "HomaConfig",
        "PfabricConfig",
        "RoceConfig",
        "CongestionManagement",
    ]
    while names:
        name = names.pop()
        if name not in generated:
            generated.add(name)
            names += re.findall(r"#/\$defs/(\w+)", json.dumps(schema["$defs"][name]))
    described = [table for name, table in schema["$defs"].items() if name not in generated]
    keys = {key for table in [schema, *described] for key in table.get("properties", {})}
    assert {"topology", "count", "jitter"} <= keys
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", guide)) == []


def test_results_page_names_every_column(tmp_path: Path) -> None:
    page = (ROOT / "docs/guide/read-the-results.md").read_text(encoding="utf-8")
    (block,) = [block for block in blocks_of(ROOT / "docs/guide/first-run.md") if block.tag == "first.toml"]
    result = fb.run(fb.Scenario.from_toml(block.body, overrides={"duration": "3 s"}))
    columns = {column for table in (result.flows, result.queues, result.links) for column in table.columns}
    assert sorted(column for column in columns if f"`{column}`" not in page) == []
