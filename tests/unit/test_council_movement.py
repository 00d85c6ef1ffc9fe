"""Who moved after new evidence, and who after words alone (E-5)."""

from collections.abc import Mapping

import pytest
from tests.support.play_council import (
    DeliberationRun,
    build_seat,
    challenge,
    debate,
    propose,
    synthesize,
    vote,
)

from moothall.domain.budget import ToolOutcome
from moothall.domain.facts import Language, ToolUsed
from moothall.domain.ids import SeatId
from moothall.domain.topic import ContextFile, Topic
from moothall.protocols.council.facts import Contribution, CouncilSettings
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.timeline import build_decision
from moothall.reports.plain_text import render_markdown

NOTES = ContextFile(
    name="notes.md",
    text="One file is enough for ten users.\nWe will have ten thousand users by May.",
)
PLAIN = "I would take it."
CITING = "We will have more: “We will have ten thousand users by May” (notes.md:2)."


def build_use(table: DeliberationRun, name: str, outcome: ToolOutcome = "answered") -> ToolUsed:
    return ToolUsed(
        ask=table.ask(name).id,
        seat=SeatId(name),
        tool="read",
        outcome=outcome,
        result="| 2: ten thousand users",
    )


def play(
    *,
    blind: Mapping[str, str] | None = None,
    argument: Contribution | None = None,
    looks: str = "",
    outcome: ToolOutcome = "answered",
    voted: str = "Yes.",
    language: Language = "en",
) -> DeliberationRun:
    """Bob and eve wrote SQLite and vote for Postgres; only bob answers to what ada argues, or looks something up."""
    subject = Topic(options=("Postgres", "SQLite"), context=(NOTES,))
    settings = CouncilSettings(debate="always", rebuttal=False, order="open")
    table = debate(
        *map(build_seat, ("ada", "bob", "eve")),
        subject=subject,
        settings=settings,
        language=language,
    )
    for name, choice in {"ada": "Postgres", "bob": "SQLite", "eve": "SQLite"}.items():
        if looks == f"{name} before":
            table.put(build_use(table, name, outcome))
        table.says(name, propose(choice, (blind or {}).get(name, PLAIN)))
    table.pass_until("argue").says(
        "ada", argument or challenge(3, "One file is not enough. Believe me.")
    )
    table.pass_until("synthesize").says("ada", synthesize("Postgres", "The group takes Postgres."))
    table.pass_until("vote").says("ada", vote())
    if looks == "bob":
        table.put(build_use(table, "bob", outcome))
    return table.says("bob", vote(text=voted)).says("eve", vote())


ALL, BOB, EVE, NOBODY = {"bob", "eve"}, {"bob"}, {"eve"}, set[str]()


@pytest.mark.parametrize(
    ("table", "moved"),
    [
        (play(), NOBODY),
        (play(argument=challenge(3, CITING)), ALL),
        (play(argument=challenge(3, "It is not enough.", evidence=("notes.md:2",))), ALL),
        (
            play(
                argument=challenge(
                    3, "The notes say “we will have a million users by June” (notes.md:2-9)."
                )
            ),
            NOBODY,
        ),
        (play(argument=challenge(3, CITING), blind={"bob": f"Still: {CITING}"}), EVE),
        (play(blind={"ada": CITING}), ALL),
        (play(looks="bob"), BOB),
        (play(looks="bob before"), NOBODY),
        (play(looks="bob", outcome="refused"), NOBODY),
        (play(voted=CITING), BOB),
    ],
    ids=[
        "words",
        "cited",
        "field",
        "invented",
        "own",
        "blind",
        "looked",
        "earlier",
        "refused",
        "vote",
    ],
)
def test_who_moved_after_new_evidence_and_who_after_words_alone(
    table: DeliberationRun, moved: set[str]
) -> None:
    """E-5, D-24: new is what a seat looked up between its two positions, or a citation that stands and that it had not made."""
    decision = build_decision(table.timeline)
    after = {each.seat: each.moved_after for each in decision.positions}
    assert after == {"ada": None} | {
        name: "evidence" if name in moved else "words" for name in ("bob", "eve")
    }
    assert (decision.moved_after_evidence, decision.moved_after_words) == (
        len(moved),
        2 - len(moved),
    )
    assert decision.to_json()["movedAfterEvidence"] == len(moved)


def test_the_report_counts_who_moved() -> None:
    """E-5: with names, in both languages; nothing while votes are out."""
    shown = render_markdown(build_council_report(play(looks="bob").timeline))
    assert (
        "Moved after new evidence (something looked up, a new citation): 1 (bob). After words alone: 1 (eve)."
        in shown
    )
    assert "而改变：1 (bob)。只因言辞而改变：1 (eve)。" in render_markdown(
        build_council_report(play(looks="bob", language="zh").timeline)
    )
    table = play()
    table.entries.pop()
    assert build_decision(table.timeline).moved_after_words is None
