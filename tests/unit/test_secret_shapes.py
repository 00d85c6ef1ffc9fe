"""Secrets in a text, by a corpus that was labelled by hand before code was run on it (E-9)."""

import re
import string
import time
from pathlib import Path
from random import Random

import pytest

from moothall.domain.secret_shapes import find_secrets

CORPUS = Path(__file__).with_name("secret_lines.tsv")
LETTERS = {
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "a": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
    "h": "0123456789abcdef",
}


def draw_letters(slot: re.Match[str], random: Random) -> str:
    """Return the letters that stand for a slot: no file of this project holds the shape of a key."""
    if slot[0] == "{w}":
        return "".join(random.choices(LETTERS["a"], k=22))
    letters = LETTERS[slot[1]]
    # A digit and a letter among them, as in any that is drawn.
    drawn = "".join(random.choices(letters, k=int(slot[2])))
    if slot[1] in "abh" and len(drawn) > 2:
        drawn = f"{drawn[:-2]}7{drawn[-1]}"
    return drawn


def list_lines() -> list[tuple[str, str]]:
    random = Random(7)
    lines: list[tuple[str, str]] = []
    for row in CORPUS.read_text("utf-8").splitlines():
        if row.startswith("#") or not row:
            continue
        kind, _, text = row.partition("\t")
        drawn = re.sub(r"\{(?:([Uabdh])(\d+)|w)\}", lambda slot: draw_letters(slot, random), text)
        lines.append((kind, re.sub(r"(?<!\\)\\n", "\n", drawn).replace("\\\\n", "\\n")))
    return lines


def test_each_line_of_the_corpus_is_judged_as_a_careful_reader_would() -> None:
    """E-9: known shapes are named by their kind, and what only looks like one is left alone."""
    missed: list[str] = []
    false_alarms: list[str] = []
    for kind, text in list_lines():
        kinds = {place.kind for place in find_secrets(text)}
        if kind == "-" and kinds:
            false_alarms.append(f"{text}: {kinds}")
        elif kind != "-" and kind not in kinds:
            missed.append(f"{kind}: {text}: {kinds}")
    assert not missed, "\n".join(missed)
    assert not false_alarms, "\n".join(false_alarms)


def test_the_corpus_has_enough_of_both_kinds() -> None:
    labels = [kind for kind, _ in list_lines()]
    assert labels.count("-") >= 60
    assert len(labels) - labels.count("-") >= 55


def test_a_place_has_the_line_and_never_the_secret() -> None:
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    [place] = find_secrets(f"first\nsecond\ntoken: {key}\nlast")
    assert (place.line, place.kind) == (3, "GitHub token")
    assert key not in repr(place)


@pytest.mark.parametrize(
    "text",
    [
        "password" * 120_000,
        "password=" * 110_000,
        "eyJ" + "a" * 900_000,
        "-----BEGIN PRIVATE KEY-----" * 30_000,
        "a://b:" * 150_000,
        "A" * 1_000_000,
        "token " + " " * 900_000 + "=",
    ],
    ids=["names", "assignments", "web token", "heads", "addresses", "capitals", "blanks"],
)
def test_hostile_texts_are_read_in_linear_time(text: str) -> None:
    """E-9: twice the text takes about twice the time, whatever stands in it."""
    half, whole = text[: len(text) // 2], text
    started = time.process_time()
    find_secrets(half)
    first = time.process_time() - started
    started = time.process_time()
    find_secrets(whole)
    assert time.process_time() - started < max(5 * first, 1.0)
