"""The rules of all asks of persona meetings, deliberations and conferences, on what whole sessions send, in both languages.

Budget (M-4): the words of one ask, with its schema and every line that Moot adds beyond what was asked and said.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from functools import cache

import pytest

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.safe_text import MARKS
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.schemas import build_request_schema, build_user_prompt, is_strict_schema
from moothall_testkit.careless_model import CarelessModel
from moothall_testkit.prompt_size import count_request, count_tokens

PROTOCOLS: Mapping[str, Mapping[str, object]] = {
    "persona": {"window": 3},
    "roundtable": {"max_rounds": 2},
    "debate": {"debate": "always"},
    "advisory": {"debate": "always"},
    "consensus": {"debate": "always", "rounds": 2},
}
TOPICS: Mapping[Language, str] = {
    "en": "Should the team move its invoices to a database now?",
    "zh": "团队现在要不要把发票迁到数据库？",
}
MACHINERY = (
    r"pheromone|concentration|deposit|threshold|(?:the )?floor\b|(?<!_)\bintent\b(?!_)|explorer|swarm|\bmotion\b|round_start|force"
    r"|deliberation|meeting of minds|信息素|浓度|蜂群|动议|阈值"
)
"""Words of the machinery, which a small model takes for the matter. Names of fields that the sources fix may stand."""
FIELD_NAMES = r"intent_to_speak|reaction_score|ballot|node_id"
MAX_TOKENS = 350
MAX_OF: Mapping[str, int] = {"draft": 420, "decide": 430, "ballot": 420}
"""An owner's decision has two lists of objects, whose schemas are longer than its words."""
MAX_SYSTEM = 90
KINDS: Mapping[str, set[str]] = {
    "persona": {"position", "intent", "speech", "draft", "stand"},
    "roundtable": {"speech", "minutes"},
    "debate": {"propose", "argue", "answer", "synthesize", "vote"},
    "advisory": {"propose", "argue", "decide"},
    "consensus": {"propose", "argue", "synthesize", "vote"},
}


@cache
def hold(protocol: str, language: Language, options: tuple[str, ...] = ()) -> tuple[Brief, ...]:
    """Hold a session of five seats; return all that was asked."""
    seen: list[Brief] = []

    class Seen(CarelessModel):
        async def __call__(self, brief: Brief) -> Answer | NoAnswer:
            seen.append(brief)
            return await super().__call__(brief)

    async def work() -> None:
        seats = {f"m{number}": Seen(number, rate=0.0) for number in range(5)}
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            await moot.hold(
                TOPICS[language],
                protocol=protocol,
                seats=seats,
                language=language,
                seed=3,
                options=options,
                settings=dict(PROTOCOLS[protocol]),
                turns=4 if protocol == "persona" else None,
            )

    asyncio.run(work())
    return tuple(seen)


def list_cases() -> list[tuple[str, Language]]:
    return [(protocol, language) for protocol in PROTOCOLS for language in ("en", "zh")]


def list_own_lines(brief: Brief) -> list[str]:
    """What Moot itself says in a prompt."""
    lines = f"{brief.system}\n{build_user_prompt(brief)}".splitlines()
    return [line for line in lines if not line.startswith(MARKS)]


@pytest.mark.parametrize(("protocol", "language"), list_cases())
@pytest.mark.parametrize("options", [(), ("Move now", "Wait")])
def test_each_ask_keeps_its_budget_schema_and_all(
    protocol: str, language: Language, options: tuple[str, ...]
) -> None:
    """M-4"""
    briefs = hold(protocol, language, options)
    kinds = {brief.ask.kind for brief in briefs}
    assert kinds >= KINDS[protocol] - {"answer"}
    for brief in briefs:
        kind = brief.ask.kind
        if "ballot" in (brief.schema or {}).get("properties", {}):
            kind = "ballot"
        counted = count_request(brief)
        assert 60 < counted <= MAX_OF.get(kind, MAX_TOKENS), (kind, counted, brief.own)
        assert count_tokens(brief.system) <= MAX_SYSTEM


@pytest.mark.parametrize(("protocol", "language"), list_cases())
def test_no_word_of_the_machinery_stands_in_a_prompt(protocol: str, language: Language) -> None:
    """M-3, M-13: a small model takes such words for the matter."""
    for brief in hold(protocol, language):
        said = re.sub(FIELD_NAMES, "", "\n".join(list_own_lines(brief)))
        assert re.search(MACHINERY, said, re.IGNORECASE) is None, said


@pytest.mark.parametrize(("protocol", "language"), list_cases())
def test_all_prompts_begin_alike_up_to_who_the_seat_is(protocol: str, language: Language) -> None:
    """M-4, P-8: one system text, and in each phase one shared part, so that providers reuse their cache."""
    briefs = hold(protocol, language)
    assert len({brief.system for brief in briefs}) == 1
    you = PARTICIPANT_PROMPT[language].heads["you"]
    shared: dict[tuple[str, int], set[str]] = {}
    for brief in briefs:
        assert brief.own.lstrip().startswith((you, PARTICIPANT_PROMPT[language].from_user))
        if brief.ask.kind in {"position", "intent", "propose", "stand", "vote"}:
            shared.setdefault((brief.ask.kind, brief.ask.turn), set()).add(brief.shared)
    assert all(len(parts) == 1 for parts in shared.values())


@pytest.mark.parametrize(("protocol", "language"), list_cases())
def test_the_schema_of_a_kind_is_the_same_in_the_first_and_the_last_ask(
    protocol: str, language: Language
) -> None:
    """M-1, M-4: with a provider that puts it before the prompt it is cached with it."""
    schemas: dict[str, set[str]] = {}
    for brief in hold(protocol, language):
        if brief.form.form != "json":
            continue
        sent = build_request_schema(brief, is_shown=True)
        assert is_strict_schema(sent)
        kind = brief.ask.kind
        # A ballot is voted on several texts; before the talk a bid also names a choice, a decider's whether enough was said.
        variant = sorted(
            {"ballot", "choice", "sufficient", "moved_by", "taken"} & {*sent["properties"]}
        )
        schemas.setdefault(f"{kind} {variant}", set()).add(json.dumps(sent))
    assert {kind: len(forms) for kind, forms in schemas.items() if len(forms) > 1} == {}


REASONS = {
    "position": ("position", "choice"),
    "intent": ("reason", "reaction_score"),
    "draft": ("reasons", "decision"),
    "stand": ("position", "verdict"),
    "propose": ("text", "choice"),
    "argue": ("text", "type"),
    "synthesize": ("text", "headline"),
    "decide": ("taken", "text"),
    "vote": ("text", "confidence"),
}


@pytest.mark.parametrize(("protocol", "language"), list_cases())
def test_the_reason_comes_before_the_verdict_and_every_field_is_explained(
    protocol: str, language: Language
) -> None:
    """M-4: in the words as in the schema, in the same order."""
    for brief in hold(protocol, language):
        if brief.form.form != "json":
            continue
        sent = build_request_schema(brief)
        names = [*sent["properties"]]
        assert sent["required"] == names, "grammars write needed fields first"
        reason, verdict = REASONS.get(brief.ask.kind, names[:1] * 2)
        assert verdict not in names or names.index(reason) <= names.index(verdict)
        now = brief.own.rpartition(PARTICIPANT_PROMPT[language].heads["now"])[2]
        assert [name for name in names if name not in now] == []


@pytest.mark.parametrize(("protocol", "language"), list_cases())
def test_nobody_is_shown_how_sure_others_say_they_are(protocol: str, language: Language) -> None:
    """D-12: without a record it is no evidence, and it anchors."""
    for brief in hold(protocol, language):
        heads = [line for line in brief.shared.splitlines() if line.startswith("[#")]
        assert not any(re.search(r"\d\.\d|confiden|置信", head) for head in heads)
