"""The comparison of pages with the output of commands: accepted and refused differences, and updates."""

import pytest

from shown_output import difference, lines_of, matches, updated

PRINTED = """\
first   seed 1

Flows
flow   goodput
tcp-0    1.204
tcp-1    3.517
flood     95.3

520 packet-hops in 0.0171 s of CPU time; digest 2a6a
"""


def lines(text: str) -> list[str]:
    return lines_of(text)


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        "...\nflow   goodput\n...\nflood     95.3\n...\n",
        "first   seed 1\n...\n520 packet-hops in ... s of CPU time; digest 2a6a\n",
        "...\ntcp-1      ...\n...\n",
    ],
)
def test_what_is_left_out_or_varies_matches(shown: str) -> None:
    assert matches(lines(shown), lines(PRINTED))


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED.replace("3.517", "3.518"),  # a number
        PRINTED.replace("tcp-1    3.517\n", ""),  # a line that is gone
        PRINTED.replace("first", "...\nfirst"),  # nothing to leave out
        "...\nflood     95.3\n",  # no `...` for what follows
        "...\n520 packet-hops in ... s of CPU time; digest 2a6b\n",
        "...\n",  # shows nothing
        "... ...\n",
        "",
    ],
)
def test_what_was_not_printed_does_not_match(shown: str) -> None:
    assert not matches(lines(shown), lines(PRINTED))


def test_update_keeps_what_is_left_out() -> None:
    shown = lines("...\nflow   goodput\n...\nflood     95.3\n...\n520 packet-hops in ... s of CPU time; digest 2a6a\n")
    now = PRINTED.replace("95.3", "94.9").replace("2a6a", "77ff").replace("0.0171", "0.0169")
    after = updated(shown, lines(now))
    assert "\n".join(after) == (
        "...\nflow   goodput\n...\nflood     94.9\n...\n520 packet-hops in ... s of CPU time; digest 77ff"
    )
    assert matches(after, lines(now))
    assert "+flood     94.9" in difference(shown, lines(now))


def test_update_keeps_a_column_that_varies() -> None:
    assert updated(["dbl  132 kB  ..."], ["dbl  133 kB  37.6"]) == ["dbl  133 kB   ..."]


def test_update_changes_nothing_that_matches() -> None:
    shown = lines("first   seed 1\n...\nflood      ...\n...\n")
    assert updated(shown, lines(PRINTED)) == shown


def test_update_fills_in_a_new_output() -> None:
    assert updated(["?"], lines(PRINTED)) == lines(PRINTED)


@pytest.mark.parametrize("shown", ["...\ntcp-1    9.999\nnever printed\n...\n", "?\n...\n", PRINTED * 2])
def test_what_an_update_wrote_matches(shown: str) -> None:
    assert matches(updated(lines(shown), lines(PRINTED)), lines(PRINTED))
