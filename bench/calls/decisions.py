"""What the asks of a whole decision send, in every protocol whose prompts explain their fields, in English and Chinese.

Five seats answer in twelve words (Chinese: 24 characters) and never agree too early. Counted is all that a provider reads which
puts the schema before the prompt: system text, prompt and schema, of every ask.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from bench.tokens import count_tokens
from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.answers import read_answer
from moothall.reading.schemas import build_request_schema, build_user_prompt

SEATS: Final = 5
SAID: Final[Mapping[Language, str]] = {
    "en": "We should move the invoices now because the files fail every month.",
    "zh": "发票应当现在就迁移，因为共享盘上的文件每个月都会出错。",
}
TOPICS: Final[Mapping[Language, str]] = {
    "en": "How should the team store its invoices next year?",
    "zh": "明年团队应当怎样保存发票？",
}
LABELS: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("a database", "files on a disk"),
    "zh": ("数据库", "共享盘文件"),
}
PROTOCOLS: Final[Mapping[str, Mapping[str, object]]] = {
    "persona, 3 turns": {},
    "debate": {"debate": "always"},
    "advisory": {"debate": "always"},
    "consensus, 3 rounds": {"debate": "always", "rounds": 3},
    "roundtable, 2 rounds": {"max_rounds": 2},
}


SPELLINGS: Final[Mapping[Language, tuple[str, ...]]] = {
    "en": ("store {}", "take {}", "go for {}", "{} it is", "{} for all"),
    "zh": ("改用{}", "采用{}", "选{}", "就用{}", "统一用{}"),
}
"""How each seat words the answer that it shares with others."""


class BriefJudge:
    """Compares answers by the thing that they name, and counts what it was sent."""

    def __init__(self, language: Language, counted: list[int]) -> None:
        self._labels = LABELS[language]
        self._counted = counted

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        self._counted.append(count_sent(brief))
        lines = [line.removeprefix("| ") for line in brief.own.split("\n")]
        answers = dict(line.split(". ", 1) for line in lines if ". " in line)
        judgements: list[dict[str, object]] = []
        for line in lines:
            number, _, pair = line.partition(": ")
            if number.isdigit():
                one, other = pair.split(", ")
                is_same = self._find(answers[one]) == self._find(answers[other])
                verdict = "same" if is_same else "opposite"
                judgements.append({"pair": int(number), "reason": "…", "verdict": verdict})
        said = json.dumps({"judgements": judgements})
        return Answer(said=read_answer(brief, said).said)

    def _find(self, answer: str) -> bool:
        return self._labels[0] in answer


class BriefMind:
    """Answers every ask in its form, and counts what it was sent."""

    def __init__(
        self, number: int, language: Language, counted: list[int], *, is_worded: bool = False
    ) -> None:
        self._number = number
        self._said = SAID[language]
        self._label = LABELS[language][number % 2]
        if is_worded:
            self._label = SPELLINGS[language][number - 1].format(self._label)
        self._counted = counted

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        self._counted.append(count_sent(brief))
        return Answer(said=read_answer(brief, self._write(brief)).said)

    def _write(self, brief: Brief) -> object:
        if brief.form.form == "text":
            return self._said
        fields = (brief.schema or {})["properties"]
        answer = {name: value for name, value in self._list_values(brief).items() if name in fields}
        return json.dumps(answer, ensure_ascii=False)

    def _list_values(self, brief: Brief) -> dict[str, Any]:
        """Return a value for each field of any ask; those that it has are said."""
        kind, said = brief.ask.kind, self._said
        # One opposes to the end: a consensus takes all of its rounds.
        side = "oppose" if self._number == SEATS else "support"
        fields = (brief.schema or {}).get("properties", {})
        candidates = list_numbers(fields, "ballot", "candidate")
        advice = list_numbers(fields, "taken", "entry")
        values: dict[str, Any] = {
            "text": said,
            "reason": said,
            "reaction_score": 0.9,
            "intent_to_speak": True,
            "position": said if kind in {"position", "stand"} else side,
            "verdict": side,
            "choice": self._label,
            "confidence": 0.8,
            "refers_to": 2,
            "type": "support",
            "decision": {"text": said, "entries": [2]},
            "reasons": [{"text": said, "entries": [2]}],
            "ballot": [{"candidate": each, "position": side} for each in candidates],
            "taken": [{"entry": each, "why": said, "how": "adopted"} for each in advice],
        }
        return values


def list_numbers(fields: Mapping[str, Any], name: str, number: str) -> list[int]:
    """Return the numbers of lines that a list of an answer is about."""
    item = fields.get(name, {}).get("items", {})
    return [*item.get("properties", {}).get(number, {}).get("enum", ())]


def count_sent(brief: Brief) -> int:
    """Count the tokens of a request to a provider that shows the schema to the model."""
    sent = count_tokens(f"{brief.system}\n\n{build_user_prompt(brief, shows_form=False)}")
    if brief.form.form != "json":
        return sent
    schema = build_request_schema(brief, is_shown=True)
    return sent + count_tokens(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


async def measure_decision(
    name: str, language: Language, *, is_worded: bool = False, is_judged: bool = False
) -> list[int]:
    """Hold a session; return the tokens that each of its asks sent. `is_worded`: every seat has words of its own."""
    protocol = name.partition(",")[0]
    counted: list[int] = []
    seats: dict[str, BriefMind | BriefJudge] = {}
    for number in range(1, SEATS + 1):
        seats[f"seat{number}"] = BriefMind(number, language, counted, is_worded=is_worded)
    settings = dict(PROTOCOLS[name])
    if is_judged:
        seats["judge"] = BriefJudge(language, counted)
        settings["judge"] = "judge"
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        await moot.hold(
            TOPICS[language],
            protocol=protocol,
            seats=seats,
            language=language,
            seed=1,
            settings=settings,
            turns=3 if protocol == "persona" else None,
            memory=False,
        )
    return counted


async def report_decisions() -> list[str]:
    """Return a line for each protocol."""
    lines = ["| protocol | calls | English | Chinese |", "|---|---|---|---|"]
    for name in PROTOCOLS:
        english, chinese = await measure_decision(name, "en"), await measure_decision(name, "zh")
        lines.append(f"| {name} | {len(english)} | {sum(english):,} | {sum(chinese):,} |")
    return lines


JUDGED: Final = ("persona, 3 turns", "debate", "advisory", "consensus, 3 rounds")
"""The protocols whose answers a judge settles."""


async def report_judged() -> list[str]:
    """Return a line for each protocol: five wordings of two answers, counted as words, and settled by a judge."""
    lines = [
        "| protocol | calls | with a judge | English | with a judge | Chinese | with a judge |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in JUDGED:
        cells: list[str] = []
        calls: list[str] = []
        languages: tuple[Language, ...] = ("en", "zh")
        for language in languages:
            bare = await measure_decision(name, language, is_worded=True)
            judged = await measure_decision(name, language, is_worded=True, is_judged=True)
            cells += [f"{sum(bare):,}", f"{sum(judged):,}"]
            calls = [str(len(bare)), str(len(judged))]
        lines.append(f"| {' | '.join([name, *calls, *cells])} |")
    return lines
