"""Q-2, Q-6: an either-or question is not answered by yes: the seat is asked which one, once, and nothing that it says is dropped."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.wire import ApiModel, serve_within

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.errors import BadAnswer

QUESTION: Final = "PostgreSQL or MySQL?"
Answering = Callable[[Brief], object]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiModel]:
    with serve_within(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def answer_by_kind(label: Callable[[Brief], str], text: str) -> Answering:
    """A seat that gives this label wherever one is asked for, and goes along with everything else."""

    def respond(brief: Brief) -> object:
        kind, choice = brief.form.kind, label(brief)
        answers: dict[str, object] = {
            "position": {"position": text, "choice": choice},
            "intent": {"reaction_score": 0.0, "intent_to_speak": False},
            "draft": {"decision": {"text": text}, "choice": choice},
            "stand": {"verdict": "support"},
            "propose": {"type": "propose", "text": text, "choice": choice},
            "argue": {"type": "pass", "text": ""},
            "synthesize": {"type": "synthesize", "text": text, "choice": choice},
            "decide": {"type": "synthesize", "text": text, "choice": choice},
            "vote": {"type": "vote", "position": "support"},
            "speech": f"{text}\n[CHOICE] {choice}\n[CONSENSUS]",
            "minutes": f"## Consensus\n{text}\n[CHOICE] {choice}",
        }
        return answers[kind]

    return respond


def hold(home: Path, protocol: str, respond: Answering, topic: str = QUESTION) -> Any:
    names = ("ada", "bob", "cy")
    # Functions of their own: one function is one mind.
    seats: dict[str, Answering] = {name: partial(respond) for name in names}

    async def run() -> Any:
        environ = {"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"}
        async with Moot(environ=environ) as moot:
            return await moot.hold(topic, protocol=protocol, seats=seats)

    return asyncio.run(run())


PROTOCOLS: Final = ("persona", "debate", "consensus", "advisory", "roundtable")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("text", ["PostgreSQL has what we need.", "Yes."])
@pytest.mark.parametrize("label", ["yes", "No.", "是"])
def test_a_yes_that_stays_is_recorded_and_is_never_what_was_decided(
    tmp_path: Path, protocol: str, text: str, label: str
) -> None:
    """Q-2, Q-7: the outcome says whose answers named none of the things."""
    decision = hold(tmp_path, protocol, answer_by_kind(lambda _: label, text))
    assert decision.choice == ""
    assert decision.short_choice.strip(".").casefold() not in {"yes", "no", "是"}
    if text == "Yes.":
        assert decision.decision is None
    assert label in {each.said for each in decision.uncounted}
    assert decision.lost == ()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_alternatives_are_named_and_the_second_answer_counts(
    tmp_path: Path, protocol: str
) -> None:
    """Q-6: asked back in one line, by what the question names; functions hear it as every other seat does."""
    heard: list[str] = []

    def respond(brief: Brief) -> object:
        if brief.form.kind != "which":
            return answer_by_kind(lambda _: "yes", "It runs already.")(brief)
        heard.append(brief.own)
        return "MySQL"

    decision = hold(tmp_path, protocol, respond)
    assert decision.choice == "MySQL"
    assert decision.uncounted == ()
    asked = heard[0]
    assert "yes" in asked
    assert "PostgreSQL" in asked
    assert "none of these" in asked
    assert len(asked) < 350


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_means_none_of_the_alternatives_says_so(tmp_path: Path, protocol: str) -> None:
    """Q-2: the list that is asked about is open as well."""

    def respond(brief: Brief) -> object:
        if brief.form.kind == "which":
            return "none of these"
        return answer_by_kind(lambda _: "yes", "A file is enough for us.")(brief)

    decision = hold(tmp_path, protocol, respond)
    assert decision.choice == "none of these"
    assert decision.uncounted == ()


@pytest.mark.parametrize(
    "topic",
    [
        "Should we use PostgreSQL or not?",
        "Do we need tests or documentation before we ship?",
        "Should we ship?",
    ],
)
def test_a_question_for_yes_or_no_is_answered_by_it(tmp_path: Path, topic: str) -> None:
    asked: list[str] = []

    def label(brief: Brief) -> str:
        asked.append(brief.ask.id)
        return "yes"

    decision = hold(tmp_path, "debate", answer_by_kind(label, "We should, and soon."), topic)
    assert decision.choice == "yes"
    assert len(asked) == len(set(asked)) == 3


def test_a_seat_that_fails_when_it_is_asked_back_keeps_its_first_answer(tmp_path: Path) -> None:
    """Q-7: guards ask, they never drop."""

    def respond(brief: Brief) -> object:
        if brief.form.kind == "which":
            raise RuntimeError("gone")
        return answer_by_kind(lambda _: "yes", "PostgreSQL has what we need.")(brief)

    decision = hold(tmp_path, "debate", respond)
    assert decision.lost == ()
    assert {each.seat for each in decision.uncounted} == {"ada", "bob", "cy"}


def test_an_agent_from_outside_is_told_once_and_then_recorded(wire: ApiModel) -> None:
    """Q-2, D-6: the first yes is an error that names the things; the same again is recorded, and counts for none."""
    session = wire.open("ada", "bob", topic=QUESTION)
    said = {"choice": "yes", "text": "PostgreSQL has what we need."}
    with pytest.raises(BadAnswer, match=r"Which one: PostgreSQL or MySQL\?"):
        wire.say(session, "ada", "propose", **said)
    entry = wire.say(session, "ada", "propose", **said)
    assert wire.say(session, "ada", "propose", **said) == entry, "a retry counts once"
    with pytest.raises(BadAnswer, match="Which one"):
        wire.say(session, "bob", "propose", **said)
    wire.say(session, "bob", "propose", choice="MySQL", text="It runs already.")
    lines = [each for each in wire.read(session)["contributions"] if each["type"] == "propose"]
    assert [(each["participant"], each.get("choice")) for each in lines] == [
        ("ada", ""),
        ("bob", "MySQL"),
    ]
