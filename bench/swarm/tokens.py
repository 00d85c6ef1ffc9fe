"""What a whole swarm sends: prompts and the schemas of answers, ask by ask, in both languages.

Five seats that Moot asks itself, three rounds, collisions, a judge of ideas, a ballot and a synthesis; every answer has about
twelve words. Tokens are counted roughly, as the test kit does. Where a provider shows the schema to the model, the form is not
sent in words as well.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.play_swarm import build_swarm_plan

from bench.swarm.driver import Drive
from bench.swarm.report import table
from bench.tokens import count_tokens, describe_counter
from moothall.domain.effects import Brief, CompareTexts
from moothall.domain.facts import Language
from moothall.protocols.swarm.rules.review import compare_by_words
from moothall.reading.answers import read_answer
from moothall.reading.schemas import build_request_schema, build_user_prompt

SEATS: Final = 5
ROUNDS: Final = 3
IDEAS: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "Put a cache at the edge and serve repeated views from it.",
        "Buy two faster machines and move the whole database onto them now.",
        "Add the missing index to the product table and measure it again.",
        "Build the pages every night and publish them as plain static files.",
        "Shrink all product images and load those below the fold later on.",
        "Throw out the tracking scripts that three vendors have put on pages.",
    ),
    "zh": (
        "在边缘加缓存，由它提供重复的访问。",
        "买两台更快的机器，把数据库整个迁过去。",
        "给商品表补上缺失的索引，然后重新测量。",
        "每晚生成页面，作为静态文件发布。",
        "缩小所有商品图片，首屏以下的稍后再加载。",
        "去掉三家供应商放在页面上的跟踪脚本。",
    ),
}
WORDS: Final[dict[Language, str]] = {
    "en": "We measured it last week on {number} pages: a third of them faster.",
    "zh": "上周在 {number} 个页面上测过：三分之一变快了。",
}


@dataclass
class SentTokens:
    """The calls of a run and the tokens that they sent, by the kind of ask."""

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)

    def add(self, brief: Brief) -> None:
        is_json = brief.form.form == "json"
        prompt = f"{brief.system}\n{build_user_prompt(brief, shows_form=not is_json)}"
        sent = count_tokens(prompt)
        if is_json:
            schema = build_request_schema(brief, is_shown=True)
            sent += count_tokens(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
        self.calls[brief.ask.kind] += 1
        self.tokens[brief.ask.kind] += sent


class TwelveWords:
    """All seats of a run: each names one of six ideas in turn, with an observation of about twelve words."""

    def __init__(self, language: Language) -> None:
        self._ideas, self._words = IDEAS[language], WORDS[language]
        self._said = 0

    def says(self, brief: Brief) -> object:
        if isinstance(brief.chore, CompareTexts):
            return compare_by_words(brief.chore)
        self._said += 1
        words = self._words.format(number=100 + self._said)
        match brief.ask.kind:
            case "explore":
                idea = self._ideas[self._said % len(self._ideas)]
                finding = {"coreIdea": idea, "details": words, "rating": 0.7}
                return self._read(brief, {"findings": [finding], "holds": [], "choice": "cache"})
            case "collide":
                said = {"content": words, "newInsights": [], "action": "extend"}
                return self._read(brief, said)
            case "judge":
                pairs = self._list_numbers(brief, "judgements", "pair")
                return self._read(
                    brief,
                    {"judgements": [{"pair": pair, "verdict": "different"} for pair in pairs]},
                )
            case "ballot":
                votes = [
                    {"answer": number, "reason": words, "rating": 0.6, "position": "support"}
                    for number in self._list_numbers(brief, "votes", "answer")
                ]
                return self._read(brief, {"votes": votes})
            case _:
                return self._read(brief, f"{words} (finding-001)")

    def _read(self, brief: Brief, said: object) -> object:
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return read_answer(brief, text).said

    def _list_numbers(self, brief: Brief, name: str, number: str) -> list[Any]:
        assert brief.schema is not None
        listed: list[Any] = brief.schema["properties"][name]["items"]["properties"][number]["enum"]
        return listed


def measure_swarm(language: Language) -> SentTokens:
    """Play one run of three rounds, and count what it sends."""
    plan = build_swarm_plan(
        SEATS,
        language=language,
        platform="openai:m",
        max_rounds=ROUNDS,
        min_rounds=ROUNDS,
        synthesis="always",
        pool_twins=True,
    )
    mind, sent = TwelveWords(language), SentTokens()

    def says(brief: Brief) -> object:
        if brief.chore is None:
            sent.add(brief)
        return mind.says(brief)

    run = Drive(plan, says)
    for _ in run.steps():
        pass
    return sent


def print_tokens() -> None:
    """Print the calls and tokens of a whole swarm, ask by ask."""
    english, chinese = measure_swarm("en"), measure_swarm("zh")
    rows = []
    for kind, calls in english.calls.items():
        own = chinese.calls[kind]
        rows.append(
            (
                kind,
                str(calls),
                f"{english.tokens[kind] / calls:,.0f}",
                f"{chinese.tokens[kind] / max(1, own):,.0f}",
            )
        )
    whole = (
        "in all",
        str(english.calls.total()),
        f"{english.tokens.total():,}",
        f"{chinese.tokens.total():,}",
    )
    head = (f"{SEATS} seats, {ROUNDS} rounds", "calls", "tokens each, en", "zh")
    print(table(head, [*rows, whole]))
    print(f"({describe_counter()})")
