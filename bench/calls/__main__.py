"""Counts the calls of whole sessions: `python -m bench.calls`.

Every seat is one mind that answers at once in the shape it is asked for; a call is one `respond`. The number that a protocol
needs is worked out beside it, from its phases alone.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.calls.asks import report_instructions
from bench.calls.costs import report_costs
from bench.calls.decisions import report_decisions, report_judged
from bench.calls.persona import report_asks, report_settings
from bench.calls.sessions import SEATS, hold_session
from bench.tokens import describe_counter
from moothall.domain.effects import Brief
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.protocols.council.facts import AdviceResponse, Contribution


@dataclass
class Mind:
    """Answers as told, and counts how often it is asked."""

    agrees: bool
    calls: Counter[str] = field(default_factory=Counter)

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.calls[brief.ask.kind] += 1
        number = int(brief.seat.id.removeprefix("seat"))
        said = self._said(brief, number)
        assert brief.fault(said) is None, brief.fault(said)
        return Answer(said=said)

    def _said(self, brief: Brief, number: int) -> Contribution:
        match brief.ask.kind:
            case "propose":
                choice = "yes" if self.agrees or number % 2 else "no"
                return Contribution(
                    type="propose", text=f"Proposal {number}", choice=choice, confidence=0.8
                )
            case "argue":
                return Contribution(
                    type="support", text=f"Argument {number}", refers_to=2, confidence=0.8
                )
            case "synthesize":
                return Contribution(
                    type="synthesize", text="All of it", choice="yes", confidence=0.8
                )
            case "decide":
                advice = tuple(
                    AdviceResponse(entry=entry, how="adopted")
                    for entry in range(2 + SEATS, 1 + 2 * SEATS)
                )
                return Contribution(
                    type="synthesize", text="All of it", choice="yes", confidence=0.8, taken=advice
                )
            case _:
                return Contribution(type="vote", position="support", confidence=0.8)


NEEDED: dict[tuple[str, bool], Callable[[int], int]] = {
    ("debate", False): lambda seats: 4 * seats,
    ("consensus", False): lambda seats: 3 * seats + 1,
    ("advisory", False): lambda seats: seats + (seats - 1) + 1,
    ("debate", True): lambda seats: seats,
    ("consensus", True): lambda seats: seats,
    ("advisory", True): lambda seats: seats,
}
"""Everyone proposes, argues, synthesizes, votes; a consensus takes one synthesis; an owner does not advise itself. Where all
agree blind, the proposals are all there is."""


async def counted(name: str, *, agrees: bool) -> Counter[str]:
    """The calls of one whole session, by what was asked for."""
    mind = Mind(agrees)
    await hold_session(name, mind)
    return mind.calls


async def main() -> None:
    print(f"{'protocol':<12}{'blind choices':<16}{'calls':>6}{'needed':>8}   by what was asked for")
    for (name, agrees), needed in NEEDED.items():
        calls = await counted(name, agrees=agrees)
        told = ", ".join(f"{kind} {count}" for kind, count in calls.items())
        print(
            f"{name:<12}{'agree' if agrees else 'differ':<16}{calls.total():>6}{needed(SEATS):>8}   {told}"
        )
    print("\nPersona meetings of five seats of one model, ten turns:\n")
    print("\n".join(await report_settings()))
    print("\nWhat one ask sends:\n")
    print("\n".join(await report_asks()))
    print(
        "\nWhat one ask sends beyond its matter, in tokens (three Chinese characters are two, four others one):\n"
    )
    print("\n".join(await report_instructions()))
    print(f"\nWhat the asks of a decision send in all, schema and all ({describe_counter()}):\n")
    print("\n".join(await report_decisions()))
    print("\nThe same where five seats word two answers in five ways, and a judge settles them:\n")
    print("\n".join(await report_judged()))
    print("\nWhat a decision costs, beside simpler ways to ask models:\n")
    # On an event loop of its own, whose clock jumps.
    print("\n".join(await asyncio.to_thread(report_costs)))


if __name__ == "__main__":
    asyncio.run(main())
