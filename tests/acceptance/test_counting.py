"""How many model calls a deliberation costs: as many as its protocol needs, and not one more (D-7, D-8, D-9, D-19)."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from tests.acceptance.doors import DEADLINE, Cli

from moothall import Decision
from moothall.domain.topic import Stakes
from moothall_testkit.stub_server import Request, Step, StubReply, StubServer

T = TypeVar("T")
TOPIC = "Should we ship on Friday?"
SEATS = ("ada", "bob", "cem", "dan", "eve")
PHASES = {
    "You have read nobody yet": "propose",
    "Support or challenge one line": "argue",
    "decides; advise. Support the proposal": "advise",
    "Write the one resolution": "synthesize",
    "The decision is yours": "decide",
    "Vote on #": "vote",
}
Mind = Callable[[Request], Step]


def phase_of(request: Request) -> str:
    """What the prompt asks for."""
    (found,) = [phase for words, phase in PHASES.items() if words in request.text]
    return found


def seat_of(request: Request) -> str:
    (found,) = [seat for seat in SEATS if f"You are {seat}." in request.text]
    return found


def answer(request: Request, choice: str) -> dict[str, Any]:
    """What fits the phase."""
    match phase_of(request):
        case "propose":
            return {
                "type": "propose",
                "text": f"I say {choice}.",
                "choice": choice,
                "confidence": 0.8,
            }
        case "argue" | "advise":
            return {
                "type": "support",
                "text": "The numbers hold.",
                "refers_to": 2,
                "confidence": 0.8,
            }
        case "synthesize":
            return {"type": "synthesize", "text": "So be it.", "choice": choice, "confidence": 0.8}
        case "decide":
            advice = [number for number in range(7, 11) if f"#{number} " in request.text]
            taken = [{"entry": number, "how": "adopted", "why": "It holds."} for number in advice]
            return {
                "type": "synthesize",
                "text": "So be it.",
                "choice": choice,
                "confidence": 0.8,
                "taken": taken,
            }
        case _:
            return {"type": "vote", "position": "support", "confidence": 0.9, "text": "Fine."}


def agreeing(request: Request) -> Step:
    return StubReply(text=json.dumps(answer(request, "yes")))


def disputing(request: Request) -> Step:
    """Ada alone says no."""
    return StubReply(text=json.dumps(answer(request, "no" if seat_of(request) == "ada" else "yes")))


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(2 * DEADLINE):
            return await work

    return asyncio.run(bounded())


def commanded(cli: Cli, mind: Mind, *words: str) -> tuple[dict[str, Any], list[Request]]:
    """What `moot run` prints for five model seats, and every call that they made."""

    async def work() -> tuple[dict[str, Any], list[Request]]:
        async with StubServer([mind], models=["gpt-stub"]) as stub:
            seats = [
                word for seat in SEATS for word in ("--seat", f"{seat}={stub.base_url}#gpt-stub")
            ]
            found: dict[str, Any] = await asyncio.to_thread(cli.json, "run", TOPIC, *seats, *words)
            return found, stub.asked

    return run(work())


def counted(
    cli: Cli, mind: Mind, protocol: str, stakes: Stakes = "medium", **settings: Any
) -> tuple[Decision, list[Request]]:
    """The decision of five model seats, and every call that they made."""

    async def work() -> tuple[Decision, list[Request]]:
        async with StubServer([mind], models=["gpt-stub"]) as stub, cli.moot() as moot:
            seats = dict.fromkeys(SEATS, f"{stub.base_url}#gpt-stub")
            found = await moot.hold(
                TOPIC, seats=seats, protocol=protocol, stakes=stakes, settings=settings
            )
            return found, stub.asked

    return run(work())


@pytest.mark.parametrize(
    ("protocol", "phases"),
    [
        ("debate", {"propose": 5, "argue": 5, "synthesize": 5, "vote": 5}),
        ("consensus", {"propose": 5, "argue": 5, "synthesize": 1, "vote": 5}),
        ("advisory", {"propose": 5, "advise": 4, "decide": 1}),
    ],
    ids=["debate 20", "consensus 16", "advisory 10"],
)
def test_five_disputing_models_are_called_as_often_as_the_protocol_has_turns(
    cli: Cli, protocol: str, phases: dict[str, int]
) -> None:
    """D-7, D-8, D-9: one call for each turn; the record and the decision count the same."""
    found, asked = counted(cli, disputing, protocol, "high")
    assert Counter(phase_of(request) for request in asked) == phases
    assert found.spent.calls == len(asked) == sum(phases.values())
    assert found.lost == ()
    assert found.consensus_type == ("owner_decision" if protocol == "advisory" else "contested")


def test_a_debate_of_five_models_on_the_command_line_makes_twenty_calls(cli: Cli) -> None:
    """D-7: four phases of five turns; looking whether the models are there costs no call."""
    found, asked = commanded(cli, disputing, "--protocol", "debate")
    assert len(asked) == found["spent"]["calls"] == 20
    assert (found["endedBy"], found["consensusType"]) == ("voted", "contested")


def test_low_stakes_on_the_command_line_end_an_agreement_after_five_calls(cli: Cli) -> None:
    """D-19: the cheapest debate there is."""
    found, asked = commanded(cli, agreeing, "--protocol", "debate", "--stakes", "low")
    assert len(asked) == found["spent"]["calls"] == 5
    assert found["endedBy"] == "agreed_blind"


@pytest.mark.parametrize("protocol", ["debate", "consensus", "advisory"])
@pytest.mark.parametrize(
    ("stakes", "settings"), [("low", {}), ("medium", {}), ("high", {"debate": "auto"})]
)
def test_blind_positions_that_agree_end_it_after_one_call_for_each_seat(
    cli: Cli, protocol: str, stakes: Stakes, settings: dict[str, Any]
) -> None:
    """D-19: cheap where everyone thinks the same."""
    found, asked = counted(cli, agreeing, protocol, stakes, **settings)
    assert Counter(phase_of(request) for request in asked) == {"propose": 5}
    assert (found.ended_by, found.choice, found.spent.calls) == ("agreed_blind", "yes", 5)
    # Five seats of one model are far from five votes (D-20).
    assert found.effective is not None
    assert (found.voters, round(found.effective, 2)) == (5, 1.67)


@pytest.mark.parametrize(
    ("stakes", "settings"), [("high", {}), ("critical", {}), ("low", {"debate": "always"})]
)
def test_where_much_is_at_stake_agreement_is_argued_all_the_same(
    cli: Cli, stakes: Stakes, settings: dict[str, Any]
) -> None:
    """D-19: agreement before any argument is no proof."""
    found, asked = counted(cli, agreeing, "debate", stakes, **settings)
    assert len(asked) == 20
    assert (found.ended_by, found.consensus_type) == ("voted", "unanimous")


def test_nobody_reads_anyone_while_positions_are_taken_blind(cli: Cli) -> None:
    """D-19: no proposal is in any prompt of the first phase; all are in every prompt after it."""
    _, asked = counted(cli, disputing, "debate")
    for request in asked:
        assert ("I say yes." in request.text) == (phase_of(request) != "propose")


def test_another_round_costs_one_synthesis_and_the_votes(cli: Cli) -> None:
    """D-9: the objections go back once; the second vote carries."""

    def stubborn(request: Request) -> Step:
        is_first = (
            "The last vote did not carry" not in request.text
            and "So be it, then." not in request.text
        )
        said = answer(request, "no" if seat_of(request) == "ada" else "yes")
        if phase_of(request) == "synthesize" and not is_first:
            said["text"] = "So be it, then."
        if phase_of(request) == "vote" and is_first and seat_of(request) == "eve":
            said["position"] = "oppose"
        return StubReply(text=json.dumps(said))

    found, asked = counted(cli, stubborn, "consensus")
    assert Counter(phase_of(request) for request in asked) == {
        "propose": 5,
        "argue": 5,
        "synthesize": 2,
        "vote": 10,
    }
    assert found.decision is not None
    assert (found.consensus_type, found.decision.text) == ("unanimous", "So be it, then.")


def test_a_seat_that_refuses_is_not_called_again_in_its_phase(cli: Cli) -> None:
    """D-12: the others go on, and the result names the seat."""

    def one_refuses(request: Request) -> Step:
        if seat_of(request) == "eve" and phase_of(request) == "argue":
            return StubReply(refusal="I would rather not.")
        return disputing(request)

    found, asked = counted(cli, one_refuses, "debate")
    assert Counter(phase_of(request) for request in asked) == {
        "propose": 5,
        "argue": 5,
        "synthesize": 5,
        "vote": 5,
    }
    assert [(lost.seat, lost.times, lost.last, lost.did_not_vote) for lost in found.lost] == [
        ("eve", 1, "refused", False)
    ]
