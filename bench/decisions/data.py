"""The recorded votes, read into one form: cases with a truth, and rounds of choices by seat."""

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moothall.scoring.independence import detect_family
from moothall.scoring.posterior import OPEN_OPTIONS

DATA: Final = Path(__file__).resolve().parents[1] / "data"

PERSONAS: Final = (
    "Economist",
    "Doctor",
    "Lawyer",
    "Mathematician",
    "Psychologist",
    "Programmer",
    "Historian",
)
SOLVERS: Final = ("first", "second", "third", "fourth")
JUDGES: Final = {
    "bard": "google:gemini-bard",
    "claude": "anthropic:claude-1",
    "gpt35": "openai:gpt-3.5-turbo",
    "gpt4": "openai:gpt-4",
    "vicuna-13b": "server:llama-vicuna-13b",
}
"""The judges' models as platforms; Vicuna is a tuned Llama."""

Votes = Mapping[str, str | None]
"""What each seat that was asked chose; None: it replied but chose nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its truth; the first round is blind."""

    id: str
    category: str
    truth: str
    rounds: tuple[Votes, ...]

    @property
    def blind(self) -> Votes:
        return self.rounds[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One file: its cases, its seats' families, how many seats agreeing ended the recorded runs (0: nothing did), and among how
    many options a seat chose."""

    name: str
    cases: tuple[Case, ...]
    families: Mapping[str, str]
    quorum: int
    options: int


def recordings(folder: Path = DATA) -> tuple[Recording, ...]:
    """The three recordings under a folder."""
    return (_personas(folder), _solvers(folder), _judges(folder))


def _personas(folder: Path) -> Recording:
    cases = tuple(
        Case(
            id=row["id"],
            category=row["subject"],
            truth=row["truth"],
            rounds=tuple(
                {
                    seat: choice
                    for seat, choice, asked in zip(PERSONAS, *found, strict=True)
                    if asked
                }
                for found in zip(row["rounds"], row["active"], strict=True)
            ),
        )
        for row in _rows(folder / "dylan_mmlu_personas" / "debates.jsonl.gz")
    )
    families = {seat: detect_family("openai:gpt-3.5-turbo", seat) for seat in PERSONAS}
    return Recording(name="MMLU, 7 personas", cases=cases, families=families, quorum=5, options=4)


def _solvers(folder: Path) -> Recording:
    cases = tuple(
        Case(
            id=row["id"],
            category=row["subject"],
            truth=row["truth"],
            rounds=tuple(
                {
                    seat: choice
                    for seat, choice, length in zip(SOLVERS, *found, strict=True)
                    if length
                }
                for found in zip(row["rounds"], row["chars"], strict=True)
            ),
        )
        for row in _rows(folder / "dylan_math" / "debates.jsonl.gz")
    )
    families = {seat: detect_family("openai:gpt-3.5-turbo", seat) for seat in SOLVERS}
    return Recording(
        name="MATH, 4 agents", cases=cases, families=families, quorum=3, options=OPEN_OPTIONS
    )


def _judges(folder: Path) -> Recording:
    votes: dict[str, dict[str, str | None]] = {}
    families: dict[str, str] = {}
    for row in _lines(folder / "prd_llm_judges" / "votes.csv"):
        seat = f"{row['worker']} {row['order']}"
        votes.setdefault(row["task"], {})[seat] = row["label"]
        families[seat] = detect_family(JUDGES[row["worker"]], seat)
    cases = tuple(
        Case(
            id=row["task"],
            category="",
            truth=row["majority"],
            rounds=(dict(sorted(votes[row["task"]].items())),),
        )
        for row in _lines(folder / "prd_llm_judges" / "human.csv")
        if row["n_human"] == "3" and row["majority"]
    )
    return Recording(name="PRD, 10 judges", cases=cases, families=families, quorum=0, options=3)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _lines(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        yield from csv.DictReader(text)
