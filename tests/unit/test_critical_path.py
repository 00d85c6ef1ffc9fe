"""D-24: how many calls of a session wait for one another, before it is held and as it was held."""

import asyncio

import pytest
from bench.calls.costs import PROTOCOLS, SEATS, TOPIC, TURNS, measure_way

from moothall.app.estimates import Range, SessionEstimate, estimate_session
from moothall.app.moot import Moot
from moothall.protocols.answer_judge import MAX_LOOKS

ASKED_AGAIN = {"roundtable, two rounds": 1, "consensus": 2}
"""Where a mind of the bench declines: minutes, and a synthesis in two rounds, are then asked of the next."""


async def estimate_way(name: str) -> SessionEstimate:
    protocol, settings = PROTOCOLS[name]
    async with Moot(environ={"MOOT_LEDGER": "memory:", "OPENAI_API_KEY": "x"}) as moot:
        planned = await moot.plan_session(
            TOPIC,
            protocol=protocol,
            seats={f"seat{number}": "openai:gpt-4o" for number in range(1, SEATS + 1)},
            settings=dict(settings),
            turns=TURNS if protocol == "persona" else None,
            memory=False,
            check=False,
        )
        return estimate_session(planned.opened, moot.seating.kinds)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_longest_chain_of_calls_is_what_was_expected(name: str) -> None:
    """D-24: every protocol says before how long its chain is; a session in which a call takes a second takes so many."""
    expected = asyncio.run(estimate_way(name))
    held = round(measure_way(name, is_caching=False, seconds=1.0).seconds)
    assert expected.path.least <= held <= expected.path.most + ASKED_AGAIN.get(name, 0)
    assert expected.path.most <= expected.calls.most


def test_what_can_be_asked_at_once_is_one_step() -> None:
    """D-24, Q-3: proposals and votes are asked at once, arguments and syntheses one after the other; a judge in turn, if at all."""
    assert asyncio.run(estimate_way("debate")).path == Range(12, 13 + 3 * MAX_LOOKS)
    assert asyncio.run(estimate_way("advisory")).path == Range(6, 6 + 2 * MAX_LOOKS)
    persona = asyncio.run(estimate_way('persona, bids = "together"'))
    assert persona.path == Range(4, 23 + 2 * MAX_LOOKS)
