"""Five seats that write as today's models do where no schema holds them decide what they said, in every protocol (Q-5, Q-6)."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Entry, Language, Reply, SeatLost
from moothall.reading.ask_back import WHICH
from moothall.reading.schemas import build_asked_schema, get_own_schema
from moothall.reports.decision import Decision

TOPICS: Mapping[Language, str] = {
    "en": "Where should the team keep its invoices next year?",
    "zh": "明年团队应当把发票保存在哪里？",
}
OPTIONS: Mapping[Language, tuple[str, ...]] = {
    "en": ("Database", "Shared disk"),
    "zh": ("数据库", "共享盘"),
}
SAID: Mapping[Language, str] = {
    "en": "The files fail every month, and nobody restores them in less than a day.",
    "zh": "文件每个月都会出错，而且没有人能在一天之内恢复。",
}
HEDGE: Mapping[Language, str] = {
    "en": "This is a close call, and there are good arguments on both sides. Still, what was measured last year weighs more.",
    "zh": "这并不容易判断，双方都有道理。不过去年的测量结果更有分量。",
}
OPPONENT: Final = 4
"""Which seat is of the other mind to the end."""
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "debate": {"debate": "always"},
    "advisory": {"debate": "always"},
    "consensus": {"debate": "always", "rounds": 2},
    "roundtable": {"max_rounds": 2},
    "swarm": {"max_rounds": 3},
}
Fields = Mapping[str, Any]


def flatten(fields: Fields) -> list[tuple[str, str]]:
    """Return the fields as prose has them: no JSON, and the items of a list one after another."""
    flat: list[tuple[str, str]] = []
    for name, value in fields.items():
        if isinstance(value, list):
            for item in value:
                flat += flatten(item)
        elif isinstance(value, Mapping):
            flat.append((name, str(value["text"])))
        elif isinstance(value, bool):
            flat.append((name, "yes" if value else "no"))
        else:
            flat.append((name, str(value)))
    return flat


def label_lines(fields: Fields) -> list[str]:
    """`**Position:** oppose`: a line for each field."""
    return [
        f"**{name.replace('_', ' ').capitalize()}:** {value}" for name, value in flatten(fields)
    ]


def write_verdict_last(fields: Fields, said: str, hedge: str) -> str:
    return "\n\n".join(["## My reasoning", said, hedge, *label_lines(fields)])


def write_hedged(fields: Fields, said: str, hedge: str) -> str:
    return "\n".join([f"{hedge} {said}", "", *label_lines(fields)])


def write_table(fields: Fields, said: str, hedge: str) -> str:
    listed = next((value for value in fields.values() if isinstance(value, list)), [])
    if len(listed) > 1:
        # Each item has a row below the names of its fields.
        head = " | ".join(listed[0])
        rows = [" | ".join(map(str, item.values())) for item in listed]
        return "\n".join([hedge, "", f"| {head} |", *(f"| {row} |" for row in rows)])
    rows = [f"{name} | {value}" for name, value in flatten(fields)]
    return "\n".join(
        [hedge, "", "| Field | Value |", "| --- | --- |", *(f"| {row} |" for row in rows)]
    )


def write_json_last(fields: Fields, said: str, hedge: str) -> str:
    given = json.dumps(fields, ensure_ascii=False, indent=2)
    return f"{hedge} {said}\n\nHere is my answer:\n\n```json\n{given}\n```\n\nLet me know if you need more detail."


def write_tags(fields: Fields, said: str, hedge: str) -> str:
    parts = [f"<{name}>{value}</{name}>" for name, value in flatten(fields)]
    return "\n".join([f"<thinking>{hedge}</thinking>", *parts])


STYLES: Final[tuple[Callable[[Fields, str, str], str], ...]] = (
    write_verdict_last,
    write_hedged,
    write_table,
    write_json_last,
    write_tags,
)


class ProseMind:
    """A seat with one view, which it writes in a style of its own."""

    def __init__(self, number: int, language: Language, *, is_opponent: bool) -> None:
        self.number = number
        self.is_opponent = is_opponent
        self.choice = OPTIONS[language][int(self.is_opponent)]
        self._language = language

    def __call__(self, brief: Brief) -> str:
        said, hedge = SAID[self._language], HEDGE[self._language]
        if brief.form.form == "text":
            return f"## Stance\n{said}\n\n{hedge}\n\n[CHOICE] {self.choice}"
        if brief.form.kind == WHICH:
            return self._say_which(brief)
        fields = build_asked_schema(get_own_schema(brief)).get("properties", {})
        values = self._list_values(brief, fields)
        answer = {name: values[name] for name in fields if name in values}
        return STYLES[self.number](answer, said, hedge)

    def _say_which(self, brief: Brief) -> str:
        assert brief.schema is not None
        words: list[str] = brief.schema["properties"]["meant"]["enum"]
        own = (self.choice, self._side, self._challenge)
        return next(word for word in words if word in own)

    @property
    def _side(self) -> str:
        return "oppose" if self.is_opponent else "support"

    @property
    def _challenge(self) -> str:
        return "challenge" if self.is_opponent else "support"

    def _list_values(self, brief: Brief, fields: Fields) -> dict[str, Any]:
        said, kind = SAID[self._language], brief.ask.kind
        values: dict[str, Any] = {
            "text": said,
            "reason": said,
            "reaction_score": 0.6,
            "intent_to_speak": True,
            "position": said if kind in {"position", "stand"} else self._side,
            "verdict": self._side,
            "choice": self.choice,
            "confidence": 0.8,
            "refers_to": 2,
            "type": self._challenge,
            "headline": said,
            "decision": {"text": said, "entries": []},
            "content": said,
            "action": "support",
            "findings": [{"coreIdea": self.choice, "details": said, "rating": 0.8}],
        }
        for name, number in (("ballot", "candidate"), ("taken", "entry"), ("votes", "answer")):
            item = fields.get(name, {}).get("items", {}).get("properties", {})
            numbers = item.get(number, {}).get("enum", ())
            values[name] = [self._judge(brief, number, each, said) for each in numbers]
        targets = fields.get("targetFindingId", {}).get("enum", ())
        if targets:
            values["targetFindingId"] = targets[0]
        return values

    def _judge(self, brief: Brief, name: str, number: object, said: str) -> dict[str, Any]:
        if name == "entry":
            return {"entry": number, "why": said, "how": "adopted"}
        is_own = f"| {number}. {self.choice}\n" in f"{brief.shared}\n{brief.own}"
        judged: dict[str, Any] = {name: number, "reason": said}
        judged["position"] = "support" if is_own else "oppose"
        if name == "answer":
            judged["rating"] = 0.8 if is_own else 0.2
        return judged


async def hold(protocol: str, language: Language) -> tuple[Decision, list[Entry]]:
    # A consensus is none while one of five opposes it.
    opponent = None if protocol == "consensus" else OPPONENT
    seats: dict[str, Any] = {
        f"mind{number}": ProseMind(number, language, is_opponent=number == opponent)
        for number in range(5)
    }
    async with asyncio.timeout(120), Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        decision = await moot.hold(
            TOPICS[language],
            protocol=protocol,
            seats=seats,
            language=language,
            seed=4,
            options=OPTIONS[language],
            settings=dict(SETTINGS.get(protocol, {})),
            turns=4 if protocol == "persona" else None,
        )
        return decision, list(await moot.engine.entries(decision.session))


@pytest.mark.parametrize("language", TOPICS)
@pytest.mark.parametrize(
    "protocol", ["persona", "roundtable", "debate", "advisory", "consensus", "swarm"]
)
def test_five_seats_that_write_prose_decide_what_they_said(
    protocol: str, language: Language
) -> None:
    """Q-5, Q-6: verdicts at the end, hedges, a table, JSON after prose, tags: four of five carry their answer, and nobody is lost."""
    decision, entries = asyncio.run(hold(protocol, language))
    assert [entry.fact for entry in entries if isinstance(entry.fact, SeatLost)] == []
    assert decision.choice == OPTIONS[language][0]
    wrong: list[str] = []
    for entry in entries:
        fact = entry.fact
        if not isinstance(fact, Reply) or not fact.seat.startswith("mind"):
            continue
        choice = getattr(getattr(fact, "said", None), "choice", "")
        is_opponent = fact.seat == f"mind{OPPONENT}" and protocol != "consensus"
        if choice and choice != OPTIONS[language][int(is_opponent)]:
            wrong.append(f"{fact.ask}: {choice}")
    assert wrong == []
