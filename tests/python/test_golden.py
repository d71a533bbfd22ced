"""The release build gives the digest that the crates' tests found in a debug build."""

from pathlib import Path

import forebay as fb

GOLDEN = Path(__file__).parents[1] / "golden"


def test_debug_and_release_agree_to_the_last_bit() -> None:
    first_line = (GOLDEN / "mixed.txt").read_text(encoding="utf-8").splitlines()[0]
    result = fb.run(fb.Scenario.load(GOLDEN / "mixed.toml"))
    assert f"digest {result.digest}" == first_line
