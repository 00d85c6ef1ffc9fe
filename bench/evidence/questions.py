"""Questions that only the given files answer, made by chance from a seed. Every line of a file that matters is a fact.

- sums: each file is a quarter's table of amounts; asked is which of four sites has the largest total, so every table counts.
- contradictions: each file states the limit that holds from a year on; the newest that no other file withdraws holds.
- one clause: of all files one line says it; the others say something like it of another thing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from moothall.domain.topic import ContextFile

FILES: Final = 5
SITES: Final = ("Ash", "Birch", "Cedar", "Elm")
LIMITS: Final = ("40", "60", "80", "120")
FILLER: Final = "The minutes of the site meeting were read and no remark was made on them."

ROW: Final = re.compile(r"quarter (\d+) site (\w+) amount (\d+)")
RULE: Final = re.compile(r"rule (\d+) from year (\d+) limit (\d+)")
WITHDRAWN: Final = re.compile(r"rule (\d+) is withdrawn")
CLAUSE: Final = re.compile(r"notice for the (\w+) lease is (\d+) days")
FACTS: Final = (ROW, RULE, WITHDRAWN, CLAUSE)
QUERIES: Final = {
    "sums": ("quarter amount",),
    "contradictions": ("rule year limit", "rule withdrawn"),
    "one clause": ("notice harbour lease",),
}
"""What a mind that has tools searches for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuestion:
    """What is asked, the files, the options and which of them is right."""

    kind: str
    topic: str
    options: tuple[str, ...]
    answer: str
    files: tuple[ContextFile, ...]


def make_question(kind: str, seed: int) -> FileQuestion:
    """Make a question of a kind."""
    return KINDS[kind](Random(f"{kind} {seed}"))


def _build_files(random: Random, facts: list[list[str]], fill: int = 30) -> tuple[ContextFile, ...]:
    files = []
    for at, lines in enumerate(facts):
        texts = [*lines, *[FILLER] * fill]
        random.shuffle(texts)
        files.append(ContextFile(name=f"part{at}.md", text="\n".join(texts) + "\n"))
    return tuple(files)


def _make_sums(random: Random) -> FileQuestion:
    while True:
        amounts = [[random.randint(10, 60) for _ in SITES] for _ in range(FILES)]
        totals = sorted(sum(column) for column in zip(*amounts, strict=True))
        if totals[-1] - totals[-2] >= 8:
            break
    facts = [
        [
            f"quarter {at} site {site} amount {amount}"
            for site, amount in zip(SITES, row, strict=True)
        ]
        for at, row in enumerate(amounts)
    ]
    best = max(SITES, key=lambda site: sum(row[SITES.index(site)] for row in amounts))
    topic = "Which site has the largest total amount over all quarters?"
    return FileQuestion(
        kind="sums", topic=topic, options=SITES, answer=best, files=_build_files(random, facts)
    )


def _make_contradiction(random: Random) -> FileQuestion:
    years = random.sample(range(2010, 2026), FILES)
    limits = [random.choice(LIMITS) for _ in years]
    newest = sorted(range(FILES), key=lambda at: years[at], reverse=True)
    while limits[newest[0]] == limits[newest[1]]:
        limits[newest[0]] = random.choice(LIMITS)
    facts = [[f"rule {at} from year {years[at]} limit {limits[at]}"] for at in range(FILES)]
    facts[newest[-1]].append(f"rule {newest[0]} is withdrawn")
    topic = "Which limit holds today?"
    answer = limits[newest[1]]
    return FileQuestion(
        kind="contradictions",
        topic=topic,
        options=LIMITS,
        answer=answer,
        files=_build_files(random, facts),
    )


def _make_clause(random: Random) -> FileQuestion:
    wanted, days = random.randrange(FILES), [random.choice(LIMITS) for _ in range(FILES)]
    facts = [
        [
            f"notice for the {'harbour' if at == wanted else random.choice(SITES)} lease is {days[at]} days"
        ]
        for at in range(FILES)
    ]
    topic = "How many days is the notice for the harbour lease?"
    return FileQuestion(
        kind="one clause",
        topic=topic,
        options=LIMITS,
        answer=days[wanted],
        files=_build_files(random, facts, 60),
    )


KINDS: Final = {
    "sums": _make_sums,
    "contradictions": _make_contradiction,
    "one clause": _make_clause,
}


def guess_answer(
    question: FileQuestion, facts: Mapping[str, re.Match[str]], random: Random
) -> tuple[str, float]:
    """What follows from the facts that a mind noticed, and how sure it is: a guess where they do not tell."""
    match question.kind:
        case "sums":
            totals = dict.fromkeys(SITES, 0)
            rows = [fact for fact in facts.values() if fact.re is ROW]
            for row in rows:
                totals[row[2]] += int(row[3])
            best = max(SITES, key=lambda site: (totals[site], random.random()))
            return best, 0.3 + 0.65 * len(rows) / (FILES * len(SITES))
        case "contradictions":
            withdrawn = {fact[1] for fact in facts.values() if fact.re is WITHDRAWN}
            rules = [
                fact for fact in facts.values() if fact.re is RULE and fact[1] not in withdrawn
            ]
            if not rules:
                return random.choice(LIMITS), 0.25
            return max(rules, key=lambda rule: int(rule[2]))[3], 0.4 + 0.1 * len(rules)
        case _:
            clause = next(
                (fact for fact in facts.values() if fact.re is CLAUSE and fact[1] == "harbour"),
                None,
            )
            return (random.choice(LIMITS), 0.25) if clause is None else (clause[2], 0.95)
