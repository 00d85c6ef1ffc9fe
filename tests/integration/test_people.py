"""A person in every protocol: asked in full sentences, never for a score or for JSON, whatever it types."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.typing_person import TypingPerson

from moothall import Moot
from moothall.app.session_options import Options
from moothall.domain.facts import Entry, Reply, SeatLost
from moothall.domain.ids import parse_session_id

TABLE = """
[seats.ada]
[[seats.ada.position]]
position = "Ada before the talk"
confidence = 0.9
[[seats.ada.intent]]
reaction_score = 0.4
intent_to_speak = true
[[seats.ada.speech]]
content = "Ada speaks."
[[seats.ada.draft]]
decision = { text = "So be it.", entries = [1] }
confidence = 0.8
[[seats.ada.propose]]
type = "propose"
text = "Postgres."
choice = "Postgres"
confidence = 0.9
[[seats.ada.argue]]
type = "challenge"
text = "It is dear."
refers_to = 2
confidence = 0.6
[[seats.ada.vote]]
type = "vote"
position = "support"
confidence = 0.8
[[seats.ada.explore]]
direction = "cost"
findings = [{ core_idea = "Renting is cheaper." }]
decision_report = { threshold = 0.5, candidates = [], selected_direction = "cost", selection_reason = "why not" }
conflict_review = { conflicts_found = 0 }
"""
KINDS = {
    "persona",
    "debate",
    "advisory",
    "consensus",
    "roundtable",
    "swarm",
    "pipeline",
    "consultation",
}


def build_table(folder: Path, protocol: str) -> tuple[str, Options]:
    """A topic, and a table of this protocol at which a person sits among scripted seats."""
    script = folder / f"{protocol}.toml"
    kinds = {
        "persona": ("position", "intent", "speech", "draft"),
        "roundtable": ("speech",),
        "swarm": ("explore",),
        "pipeline": (),
        "consultation": (),
    }.get(protocol, ("propose", "argue", "vote"))
    parts = re.split(r"(?=^\[\[)", TABLE, flags=re.MULTILINE)
    chosen = [
        part
        for part in parts[1:]
        if any(part.startswith(f"[[seats.ada.{kind}]]") for kind in kinds)
    ]
    more = [part.replace("seats.ada", "seats.bob") for part in chosen]
    ends = (
        '[[seats.moderator.minutes]]\ncontent = "## Summary\\nDone."\n'
        if protocol == "roundtable"
        else ""
    )
    script.write_text(
        "".join(["[seats.ada]\n", *chosen, "[seats.bob]\n", *more, ends]), encoding="utf-8"
    )
    seats = {"me": "human", "ada": f"script:{script}", "bob": f"script:{script}"}
    options: Options = {"protocol": protocol, "seats": seats, "seed": 7, "check": True}
    match protocol:
        case "advisory":
            options["settings"] = {"owner": "me"}
        case "roundtable":
            options["seats"] = {**seats, "moderator": f"script:{script}"}
            options["settings"] = {"max_rounds": 1}
        case "swarm":
            options["settings"] = {"max_rounds": 2, "min_rounds": 1}
        case "pipeline":
            step = {"name": "write", "agent": "me", "task": "Write it."}
            gate = {"name": "check", "agent": "me", "task": "Check it.", "gate": True}
            options["seats"] = {"me": "human"}
            options["settings"] = {"steps": [step, gate]}
        case "consultation":
            options["seats"] = {"ada": "mailbox", "me": "human"}
            options["settings"] = {"asker": "ada", "to": "me"}
            options["project"] = folder
        case _:
            pass
    return "Which database?", options


async def hold(folder: Path, protocol: str, person: TypingPerson) -> list[Entry]:
    environ = {"MOOT_HOME": str(folder), "MOOT_LEDGER": "memory:"}
    async with asyncio.timeout(120), Moot(environ=environ, ask_person=person) as moot:
        topic, options = build_table(folder, protocol)
        session = await moot.open(topic, **options)
        await moot.run(session)
        return await moot.engine.entries(parse_session_id(session))


def list_texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in list_texts(each)]
    return (
        [text for each in value for text in list_texts(each)]
        if isinstance(value, list | tuple)
        else []
    )


def list_said(entries: list[Entry]) -> list[str]:
    """Every text that a seat said."""
    return [
        text
        for entry in entries
        if isinstance(entry.fact, Reply)
        for text in list_texts(asdict(entry.fact)["said"])
    ]


@pytest.mark.parametrize("protocol", sorted(KINDS))
def test_a_person_sits_among_scripts_in_every_protocol(tmp_path: Path, protocol: str) -> None:
    """M-8: full sentences, a list to choose from, no field of the answer's shape, nothing lost."""
    person = TypingPerson()
    entries = asyncio.run(hold(tmp_path, protocol, person))
    mine = [
        entry.fact
        for entry in entries
        if isinstance(entry.fact, Reply | SeatLost) and entry.fact.seat == "me"
    ]
    assert person.asked
    assert [fact for fact in mine if isinstance(fact, SeatLost)] == []
    for question, _ in person.asked:
        # Of several findings one has to be named: nobody else chooses it.
        assert question.complaint in {"", "expected the number of an entry, such as #2"}
        shown = f"{question.news} {question.about} {question.text}"
        assert not re.search(
            r"reaction|score|json|intent_to_speak|node_id|\{\"", shown, re.IGNORECASE
        )
        assert re.search(r"[.?)]$", question.text), question.text
    said = list_said(entries)
    for words in person.accepted_words:
        assert any(words in text for text in said), words


def test_a_person_is_not_asked_about_its_own_words_and_speaks_once(tmp_path: Path) -> None:
    """M-8, M-3: words typed at the bid are the speech; after them the person listens."""
    person = TypingPerson(["I would wait.", "wait", "", "Ada is right.", "", "", ""])
    entries = asyncio.run(hold(tmp_path, "persona", person))
    bids = [question for question, _ in person.asked if ".intent." in question.ask]
    assert [question.ask for question in bids][:1] == ["1.intent.me"]
    assert not [question for question, _ in person.asked if ".speech." in question.ask]
    spoken = [
        asdict(entry.fact)["said"]["content"]
        for entry in entries
        if type(entry.fact).__name__ == "TurnTaken"
    ]
    assert "Ada is right." in spoken
    after = 1 + int(bids[0].ask.split(".")[0])
    assert f"{after}.intent.me" not in [question.ask for question in bids]


LINES = (
    *(
        "",
        "1",
        "2",
        "99",
        "#1",
        "/pass",
        "/listen",
        "/enough",
        "/again",
        "/pas",
        "/ask",
        "/ask ada What?",
        "yes, if",
        "no",
        "{}",
    ),
    *(
        "Director, I need to consult @ada:",
        "support",
        "支持，如果便宜",
        "a\nb\nc",
        "x" * 3_000,
        "\x00\x1b[2J",
        "0.5",
        "[CONSENSUS]",
    ),
)
TYPED = st.text(max_size=60) | st.sampled_from(LINES)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(protocol=st.sampled_from(sorted(KINDS)), lines=st.lists(TYPED, max_size=12))
@example(protocol="consensus", lines=[*[""] * 10, "PASS"])
@example(protocol="consensus", lines=[*[""] * 10, "/PASS"])
@example(protocol="debate", lines=["Yes.", "x" * 3_000])
@example(protocol="swarm", lines=["", "", "", ""])
@example(protocol="swarm", lines=["", "x" * 3_000])
@example(protocol="debate", lines=["|"])
@example(protocol="persona", lines=["", "", "", "", "{}"])
@example(protocol="persona", lines=["a | b", "| a |", "|\n~"])
def test_a_person_who_types_anything(tmp_path: Path, protocol: str, lines: list[str]) -> None:
    """M-8: never a traceback, never recorded nonsense, never lost words."""
    person = TypingPerson(lines)
    entries = asyncio.run(hold(tmp_path, protocol, person))
    assert [
        entry.fact
        for entry in entries
        if isinstance(entry.fact, SeatLost) and entry.fact.seat == "me"
    ] == []
    said = " ".join(" ".join(text.split()) for text in list_said(entries))
    for words in person.accepted_words:
        # A command stands for an answer; other words are in the record, and what is too long was refused.
        if not words.startswith("/") and words.casefold() not in {"pass", "listen"}:
            # Each line may be an idea of its own.
            assert all(" ".join(line.split()) in said for line in words.splitlines()), words


def test_a_person_who_rejects_work_is_heard_with_the_reason(tmp_path: Path) -> None:
    """M-8: the reason of a rejection is in the record, and in what the maker is told."""
    person = TypingPerson(["A draft.", "2", "Too short."])
    entries = asyncio.run(hold(tmp_path, "pipeline", person))
    verdicts = [
        asdict(entry.fact)["said"]
        for entry in entries
        if type(entry.fact).__name__ == "VerdictGiven"
    ]
    assert verdicts[0] == {"verdict": "REJECTED", "content": "Too short."}
    assert "Too short." in person.asked[3][0].about


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        (["OK, I reject this.", ""], "REJECTED"),
        (["OK, I reject this.", "1"], "APPROVED"),
        (["yes but no", "2"], "REJECTED"),
    ],
)
def test_a_person_is_shown_what_was_understood_before_it_counts(
    tmp_path: Path, typed: list[str], verdict: str
) -> None:
    """M-14: Enter confirms it, anything else is read anew; what cannot be read is asked for again."""
    person = TypingPerson(["A draft.", *typed, "Too short."], is_stubborn=True)
    entries = asyncio.run(hold(tmp_path, "pipeline", person))
    verdicts = [
        asdict(entry.fact)["said"]
        for entry in entries
        if type(entry.fact).__name__ == "VerdictGiven"
    ]
    assert verdicts[0]["verdict"] == verdict
    given = next(entry.fact for entry in entries if type(entry.fact).__name__ == "VerdictGiven")
    assert isinstance(given, Reply)
    confirmed = f"words the answer {typed[0]!r}"
    assert given.corrections == ((confirmed,) if typed[1] == "" else ()), (
        "the typed words are in the record"
    )
    complaint = person.asked[2][0].complaint
    assert (
        "understood as:" in complaint
        if typed[0].startswith("OK")
        else "expected a number or a word" in complaint
    )


def test_a_person_who_leaves_is_lost_for_that_ask_only(tmp_path: Path) -> None:
    """M-8: in a program without a terminal of its own, leaving is a refusal."""
    person = TypingPerson([None])
    entries = asyncio.run(hold(tmp_path, "debate", person))
    lost: list[Any] = [entry.fact for entry in entries if isinstance(entry.fact, SeatLost)]
    assert [(fact.seat, fact.reason) for fact in lost] == [("me", "refused")]
