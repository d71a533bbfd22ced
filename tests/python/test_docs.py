"""The code blocks of the README and the documentation are run, in the order of the page, in a folder of the page's own.

A fence says after its language what its block is:

- ```` ```toml NAME.toml ```` is a scenario, kept under that name for the blocks that follow;
- ```` ```toml ```` is a scenario too, under a name of its own;
- ```` ```toml NAME.toml python ```` is a scenario that names Python code, which is allowed;
- ```` ```toml fragment ```` replaces what it names in the page's first scenario; the result has to be a scenario;
- ```` ```toml invalid ```` is refused;
- ```` ```toml comment ```` is TOML, and only shown;
- ```` ```python ```` is run, with what earlier blocks of the page defined; with `NAME.py` after it, it is kept under
  that name as well;
- ```` ```console ```` holds commands after `$`, each of which has to succeed.

Other languages (`sh`, `rust`, plain) are only shown: what builds the project, takes long, or is no whole.
"""

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import pytest
import tomli_w

import forebay as fb

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


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    tag: str
    body: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for match in FENCE.finditer(text):
        language, _, tag = match["info"].strip().partition(" ")
        blocks.append(Block(language, tag.strip(), match["body"], text.count("\n", 0, match.start()) + 1))
    return blocks


class Page:
    """Runs the blocks of one page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = ""
        self.names: dict[str, object] = {"__name__": "page"}
        (folder / "examples").symlink_to(ROOT / "examples")

    def run(self, block: Block) -> None:
        match block.language, block.tag:
            case ("toml", "comment"):
                tomllib.loads(block.body)
            case ("toml", "invalid"):
                with pytest.raises(fb.ScenarioError):
                    fb.Scenario.from_toml(block.body)
            case ("toml", "fragment"):
                self.simulate(tomli_w.dumps(tomllib.loads(self.scenario) | tomllib.loads(block.body)))
            case ("toml", name) if name.endswith(" python"):
                path = self.folder / name.removesuffix(" python")
                path.write_text(block.body, encoding="utf-8")
                assert fb.run(path, allow_python=True).flows.height > 0
            case ("toml", name):
                self.scenario = self.scenario or block.body
                if name:
                    (self.folder / name).write_text(block.body, encoding="utf-8")
                self.simulate(block.body)
            case ("python", name):
                if name:
                    (self.folder / name).write_text(block.body, encoding="utf-8")
                with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block.body, "page", "exec"), self.names)
            case ("console", _):
                self.execute(block.body)

    def simulate(self, text: str) -> None:
        result = fb.run(fb.Scenario.from_toml(text), out=self.folder / "out")
        assert result.flows.height > 0

    def execute(self, body: str) -> None:
        commands = [line.removeprefix("$ ") for line in body.splitlines() if line.startswith("$ ")]
        assert commands, "a console block without a `$ `"
        for line in commands:
            command, arrow, file = line.partition(" > ")
            program, *arguments = shlex.split(command, comments=True)
            assert program == "forebay"
            done = subprocess.run(
                [FOREBAY, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            if arrow:
                (self.folder / file.strip()).write_text(done.stdout, encoding="utf-8")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_run(path: Path, tmp_path: Path) -> None:
    mpl.use("Agg")
    page = Page(tmp_path)
    for block in blocks_of(path):
        try:
            page.run(block)
        except BaseException as error:
            error.add_note(f"in the block at {path.relative_to(ROOT)}:{block.line}")
            raise


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_have_a_known_language(path: Path) -> None:
    known = ("toml", "python", "console", *ONLY_SHOWN)
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


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:crates|python|experiments|examples|docs|tests|benches|xtask)/[\w./-]*)`", text))
    invented = {
        "crates/qdisc/src/blue.rs",
        "crates/switching/src/drrm.rs",
        "crates/switching/src/congestion/timely.rs",
        "python/forebay/experiment/metrics/half_life.py",
    }
    assert paths
    assert sorted(path for path in paths - invented if not (ROOT / path).exists()) == []


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
    """Each key of the schema, but for those of disciplines, schemes and TCP, whose pages are generated."""
    guide = (ROOT / "docs/guide/write-a-scenario.md").read_text(encoding="utf-8")
    schema = json.loads((ROOT / "python/forebay/scenario.schema.json").read_text(encoding="utf-8"))
    generated: set[str] = set()
    names = ["QueueSpec", "TcpConfig", "CongestionManagement"]
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
