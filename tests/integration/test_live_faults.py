"""The faults of a live small model, at the shares in which it made them, in every protocol (M-2, Q-5, Q-7): almost nothing is lost,
and nothing is read as something that its writer did not mean."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Final, get_args

import pytest
from tests.unit.test_review_answers import CI, build_diff

from moothall.app.moot import Moot
from moothall.domain.facts import Entry, Language, Reply, SeatLost
from moothall.domain.topic import ContextFile
from moothall.features.persona.facts import StandVerdict
from moothall.features.review.facts import Severity, StandWord
from moothall.scoring.positions import VotePosition
from moothall_testkit.careless_model import LIVE_SHARES, CarelessModel

PROTOCOLS: Final = (
    "persona",
    "roundtable",
    "debate",
    "advisory",
    "consensus",
    "swarm",
    "review",
)
TOPICS: Mapping[Language, str] = {
    "en": "Shall we rewrite the storage in Rust?",
    "zh": "我们要不要用 Rust 重写存储层？",
}
OPTIONS: Mapping[Language, tuple[str, ...]] = {
    "en": ("Rewrite it", "Keep it", "Buy one"),
    "zh": ("重写", "保留", "购买"),
}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "swarm": {"max_rounds": 3},
    "roundtable": {"max_rounds": 2},
    "debate": {"debate": "always"},
    "advisory": {"debate": "always"},
    "consensus": {"debate": "always", "rounds": 2},
}
SEEDS: Final = range(6)
RATE: Final = 0.5
MAX_LOST: Final = 0.019
"""The share of the faulty answers that may be lost, as measured of the live ones."""
SIDES: Final = frozenset({"choice", "position", "verdict", "stand", "action", "severity"})
"""Fields that take a side: what is read in one of them was meant."""


async def hold(
    protocol: str, language: Language, seed: int, minds: Mapping[str, CarelessModel]
) -> list[Entry]:
    options: dict[str, Any] = {}
    if protocol in {"debate", "consensus", "swarm"} and seed % 2:
        options["options"] = OPTIONS[language]
    if protocol == "review":
        change = ContextFile(name="change.diff", text=build_diff(CI, "src/app.py"))
        options["files"] = [change]
    if protocol == "persona":
        options["turns"] = 5
    async with asyncio.timeout(120), Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        decision = await moot.hold(
            TOPICS[language],
            protocol=protocol,
            seats=dict(minds),
            seed=seed,
            language=language,
            settings=dict(SETTINGS.get(protocol, {})),
            **options,
        )
        return list(await moot.engine.entries(decision.session))


def list_sides(value: Any, path: str = "") -> dict[str, str]:
    """Return what an answer says in the fields that take a side, by their place; items of a list by what they are about."""
    sides: dict[str, str] = {}
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, Mapping):
                about = next((item[name] for name in ABOUT if name in item), "")
                sides |= list_sides(item, f"{path}[{about}]")
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name in SIDES and isinstance(each, str) and each:
                sides[f"{path}.{name}"] = each
            elif not isinstance(each, str):
                sides |= list_sides(each, f"{path}.{name}")
    return sides


ABOUT: Final = ("candidate", "answer", "finding", "pair", "entry")
NEITHER: Final = frozenset({"abstain", "unsure", "unclear"})
LISTED: Final = frozenset(
    {
        *get_args(VotePosition),
        *get_args(StandVerdict),
        *get_args(StandWord),
        *get_args(Severity),
        *OPTIONS["en"],
        *OPTIONS["zh"],
        *("yes", "no", "是", "否", "challenge", "extend", "synthesize", "pass"),
    }
)
"""Words that an ask lists: one of them is a side, whatever stands round it."""
NEIGHBOURS: Final = {
    "support": ("conditional_support", "conditional"),
    "conditional_support": ("support",),
    "conditional": ("support",),
}
"""A condition makes one of the other, and one that says nothing unmakes it."""


def find_misreading(meant: Mapping[str, Any], said: object) -> str:
    """Return a side that was read and not meant; empty where there is none."""
    intended = list_sides(meant)
    # What a list says twice of one thing takes no side.
    for place, side in list_sides(said).items():
        wanted = intended.get(place)
        # An answer in words of its own stands in place of "none of these"; a text takes no side by itself.
        if wanted not in LISTED or side in (wanted, *NEIGHBOURS.get(str(wanted), ())):
            continue
        if side in NEITHER:
            continue
        return f"{place}: {wanted} was read as {side}"
    return ""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_faults_of_a_live_model_lose_next_to_nothing_and_turn_nothing_round(
    protocol: str,
) -> None:
    """M-2, Q-5, Q-7: each fault at its share."""
    faulty, lost, wrong = Counter[str](), list[str](), list[str]()
    for seed in SEEDS:
        for language in TOPICS:
            minds = {
                f"mind{number}": CarelessModel(10 * seed + number, rate=RATE, shares=LIVE_SHARES)
                for number in range(5)
            }
            for entry in asyncio.run(hold(protocol, language, seed, minds)):
                fact = entry.fact
                if isinstance(fact, SeatLost):
                    lost.append(f"{fact.ask}: {fact.cause}")
                if not isinstance(fact, Reply) or fact.seat not in minds:
                    continue
                meant = minds[fact.seat].intended.get(str(fact.ask))
                misread = "" if meant is None else find_misreading(meant, getattr(fact, "said", ""))
                if misread:
                    wrong.append(f"{fact.ask}: {misread}; {fact.corrections}")
            for mind in minds.values():
                faulty += mind.made
    print(f"{protocol}: {faulty.total()} faulty, {len(lost)} lost, {len(wrong)} read wrongly")
    assert wrong == []
    assert len(lost) <= MAX_LOST * faulty.total(), lost
    assert faulty.total() >= (15 if protocol == "review" else 38)
