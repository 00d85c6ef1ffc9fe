"""Ballots, obligations and model families as they cross the wire (D-7, D-20, D-22, D-23)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.support.wire import ApiModel, serve_within

from moothall.errors import (
    BadAnswer,
    BadRoster,
    BadSetting,
    KeyReused,
    NotAllowed,
    OutOfTurn,
    UnknownDecision,
    UnknownSeat,
)

SECRET = "xyzzy-condition"
CONDITION = "benchmarks exist"


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiModel]:
    with serve_within(tmp_path_factory.mktemp("home")) as found:
        yield found


def vote_on(candidates: dict[str, int], **positions: str) -> list[dict[str, Any]]:
    return [
        {"candidate": candidates[seat], "position": position}
        for seat, position in positions.items()
    ]


def decide_with_condition(wire: ApiModel, **params: Any) -> str:
    """A debate with one candidate that is carried, on one condition."""
    session = wire.open(**params)
    wire.bring_to_vote(session, ada="Take SQLite")
    wire.say(session, "ada", "vote", position="support", confidence=0.9)
    wire.say(session, "bob", "vote", position="support", confidence=0.9)
    wire.say(
        session,
        "cy",
        "vote",
        position="conditional_support",
        confidence=0.8,
        condition=CONDITION,
        due="2027-01-31",
        movedBy=2,
    )
    return session


# Ballots


def test_a_bare_vote_with_several_candidates_is_answered_with_the_list(wire: ApiModel) -> None:
    """D-6, D-7: the session is unchanged; a ballot on each of them is taken."""
    session = wire.open()
    candidates = wire.bring_to_vote(session, ada="S-ada", bob="S-bob")
    before = wire.read(session)
    with pytest.raises(BadAnswer) as refused:
        wire.say(session, "ada", "vote", position="support", confidence=0.8)
    for seat, number in candidates.items():
        assert f"#{number} by {seat}" in str(refused.value)
    assert "`ballot`" in str(refused.value)
    assert wire.read(session)["cursor"] == before["cursor"]
    assert [
        (each["participant"], each["candidate"], each["text"]) for each in before["candidates"]
    ] == [
        ("ada", candidates["ada"], "S-ada"),
        ("bob", candidates["bob"], "S-bob"),
    ]
    for seat in ("ada", "bob", "cy"):
        wire.say(
            session,
            seat,
            "vote",
            ballot=vote_on(candidates, ada="oppose", bob="support"),
            confidence=0.9,
        )
    read = wire.read(session)
    assert (read["result"]["decision"], read["motion"]) == ("S-bob", candidates["bob"])
    assert [each["candidate"] for each in read["tally"]] == [candidates["bob"], candidates["ada"]]
    assert read["contributions"][-1]["ballot"][1] == {
        "candidate": candidates["bob"],
        "position": "support",
        "condition": "",
        "due": "",
    }


def test_a_vote_that_names_its_candidate_needs_no_ballot(wire: ApiModel) -> None:
    """D-7."""
    session = wire.open()
    candidates = wire.bring_to_vote(session, ada="S-ada", bob="S-bob")
    for seat in ("ada", "bob", "cy"):
        wire.say(
            session, seat, "vote", position="support", refersTo=candidates["bob"], confidence=0.9
        )
    assert wire.read(session)["result"]["decision"] == "S-bob"


@given(
    ballot=st.lists(
        st.fixed_dictionaries(
            {
                "candidate": st.integers(-2, 12),
                "position": st.sampled_from(["support", "conditional_support", "oppose", "maybe"]),
            },
            optional={
                "condition": st.text(max_size=5),
                "due": st.text(max_size=120),
                "confidence": st.floats(),
            },
        ),
        max_size=4,
    )
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_careless_ballot_is_taken_or_refused_and_never_half_taken(
    wire: ApiModel, ballot: list[dict[str, Any]]
) -> None:
    """D-6: a refusal says what was expected and leaves the session as it was."""
    session = wire.open("ada", "bob")
    wire.bring_to_vote(session, ada="S-ada", bob="S-bob")
    before = wire.read(session)["cursor"]
    try:
        wire.say(session, "ada", "vote", ballot=ballot)
    except (ValidationError, BadAnswer):
        assert wire.read(session)["cursor"] == before
    else:
        assert wire.read(session)["waitingFor"] == ["bob"]


def test_where_a_deliberation_stands_is_told_in_one_answer(wire: ApiModel) -> None:
    """D-4, D-7: options, settings, deadlines, candidates; the tally only after the vote."""
    session = wire.open(
        options=["S-ada", "S-bob"], protocol="consensus", quorum=2, rounds=2, patienceSeconds=3600
    )
    for seat in ("ada", "bob", "cy"):
        wire.say(session, seat, "propose", choice="S-ada" if seat == "ada" else "S-bob")
    for seat in ("ada", "bob", "cy"):
        wire.say(session, seat, "pass")
    read = wire.read(session)
    assert (read["options"], read["patienceSeconds"]) == (["S-ada", "S-bob"], 3600)
    assert (
        read["settings"]["quorum"],
        read["settings"]["rounds"],
        read["settings"]["panelOrder"],
    ) == (2, 2, "roster")
    assert [(each["participant"], each["phase"]) for each in read["deadlines"]] == [
        ("ada", "synthesize")
    ]
    wire.say(session, "ada", "synthesize", text="S1", choice="S-ada")
    wire.say(session, "ada", "vote", position="support", confidence=0.9)
    running = wire.read(session)
    assert (running["tally"], [each["text"] for each in running["candidates"]]) == ([], ["S1"])
    assert running["motion"] == running["candidates"][0]["candidate"]
    for seat in ("bob", "cy"):
        wire.say(session, seat, "vote", position="oppose", confidence=0.9, text="no")
    later = wire.read(session)
    assert (later["status"], later["round"]) == ("open", 2)
    assert [(each["support"] < each["oppose"]) for each in later["tally"]] == [True]


# Sealed votes


def list_doors(wire: ApiModel, session: str, reader: ApiModel) -> dict[str, str]:
    """What each door shows of a session to a reader, as text."""
    given = {"deliberationId": session}
    seat = {"participant": "bob"} if reader is wire else {}
    shown = {
        "getDeliberation": reader("get_deliberation", **given),
        "since": reader("cstp.getDeliberation", since=3, **given),
        "wait": reader("wait_for_turn", timeoutSeconds=0, cursor=0, **given, participant="bob"),
        "join": reader("join_deliberation", **given, **seat),
        "asks": reader("moot.getAsks", sessionId=session, seat="bob"),
        "entries": reader("moot.getEntries", sessionId=session),
        "session": reader("moot.getSession", sessionId=session),
        "minutes": reader("moot.exportSession", sessionId=session, form="minutes"),
        "page": reader("moot.exportSession", sessionId=session, form="html"),
        "list": wire("cstp.listDeliberations"),
    }
    return {door: json.dumps(each, ensure_ascii=False) for door, each in shown.items()}


@pytest.mark.parametrize("is_ahead", [False, True])
def test_a_sealed_vote_is_seen_through_no_door(wire: ApiModel, is_ahead: bool) -> None:
    """D-23: until all are in, by nobody but its author; also one that is cast before the vote has begun."""
    session = wire.open()
    if is_ahead:
        for seat in ("ada", "bob", "cy"):
            wire.say(session, seat, "propose")
        for seat in ("ada", "bob", "cy"):
            wire.say(session, seat, "pass")
        wire.say(session, "ada", "synthesize", text="S-ada")
        number = wire.read(session)["candidates"][0]["candidate"]
    else:
        number = wire.bring_to_vote(session, ada="S-ada", bob="S-bob")["ada"]
    words = {"position": "conditional_support", "condition": SECRET, "confidence": 0.123}
    wire.say(session, "ada", "vote", refersTo=number, text=SECRET, due=SECRET, **words)
    for reader in (wire, wire.as_seat(session, "bob")):
        shown = list_doors(wire, session, reader)
        assert [door for door, text in shown.items() if SECRET in text or "0.123" in text] == []
        with pytest.raises(NotAllowed, match=r"sealed|only on the server's own machine"):
            reader("moot.exportSession", sessionId=session, form="jsonl")
    assert SECRET in json.dumps(wire.read(session, participant="ada"))
    if is_ahead:
        for seat in ("bob", "cy"):
            wire.say(session, seat, "pass")
    for seat in ("bob", "cy"):
        wire.say(session, seat, "vote", position="support", refersTo=number, confidence=0.9)
    opened = list_doors(wire, session, wire)
    assert [
        door
        for door in ("getDeliberation", "wait", "entries", "minutes", "page")
        if SECRET not in opened[door]
    ] == []


def test_nothing_refers_to_a_line_that_is_sealed(wire: ApiModel) -> None:
    """D-19, D-23: support of a proposal that nobody has read yet is refused; the session is unchanged."""
    session = wire.open()
    wire.say(session, "ada", "propose")
    before = wire.read(session)["cursor"]
    with pytest.raises(BadAnswer, match="line 2 is sealed"):
        wire.say(session, "bob", "support", refersTo=2)
    assert wire.read(session)["cursor"] == before


# Obligations


def test_a_condition_of_a_carried_decision_is_an_obligation_until_it_is_settled(
    wire: ApiModel,
) -> None:
    """D-12, D-22: in the deliberation, the decision, the thread and the page; settled once, however often it is reported."""
    thread = wire("cstp.createThread", title="stores")["thread"]
    session = decide_with_condition(wire, thread=thread)
    open_one = {"number": 1, "by": "cy", "text": CONDITION, "due": "2027-01-31", "state": "open"}
    places = {
        "deliberation": wire.read(session)["obligations"],
        "result": wire.read(session)["result"]["obligations"],
        "decision": wire("get_decision", decisionId=session)["obligations"],
        "thread": wire("cstp.getThreadStatus", thread=thread)["openObligations"],
        "catch-up": wire("cstp.resumeThread", thread=thread, participant="bob")["thread"][
            "openObligations"
        ],
        "list": wire("list_obligations", onlyOpen=True, decisionId=session)["obligations"],
    }
    for place, listed in places.items():
        assert [open_one.items() <= each.items() for each in listed] == [True], place
    for form in ("minutes", "html"):
        page = wire("moot.exportSession", sessionId=session, form=form)["text"]
        assert CONDITION in page
        assert "open" in page.lower()
    reviewed = wire("cstp.reviewDecision", decisionId=session, outcome="success")
    assert f"Obligations still open: 1 (cy: {CONDITION})" in reviewed["note"]
    settled = {
        "decisionId": session,
        "number": 1,
        "state": "failed",
        "note": "never measured",
        "idempotencyKey": "k",
    }
    first = wire("settle_obligation", **settled)
    assert (first["state"], first["settledBy"]) == ("failed", "local")
    assert wire("cstp.settleObligation", **settled) == first
    with pytest.raises(KeyReused):
        wire("cstp.settleObligation", **{**settled, "state": "met"})
    again = wire(
        "cstp.reviewDecision", decisionId=session, outcome="success", note="in spite of it"
    )
    assert (again["outcome"], "although an obligation failed: 1" in again["note"]) == (
        "success",
        True,
    )
    assert wire("list_obligations", onlyOpen=True, decisionId=session)["obligations"] == []
    assert wire("cstp.getThreadStatus", thread=thread)["openObligations"] == []
    missed = wire("cstp.resumeThread", thread=thread, participant="bob")["missed"]
    assert [each["text"] for each in missed if each["kind"] == "obligation"] == [
        "1 failed: never measured"
    ]
    assert wire.read(session)["obligations"][0]["state"] == "failed"
    assert "failed" in wire("moot.exportSession", sessionId=session, form="minutes")["text"]


def test_what_is_no_obligation_is_refused(wire: ApiModel) -> None:
    """D-6, D-22."""
    session = decide_with_condition(wire)
    with pytest.raises(BadSetting, match="has no obligation 2; it has 1 to 1"):
        wire("cstp.settleObligation", decisionId=session, number=2, state="met")
    with pytest.raises(UnknownDecision):
        wire("cstp.settleObligation", decisionId="nowhere", number=1, state="met")
    with pytest.raises(UnknownDecision):
        wire("cstp.listObligations", decisionId="nowhere")
    with pytest.raises(NotAllowed):
        wire.as_seat(session, "cy")(
            "cstp.settleObligation", decisionId=session, number=1, state="met"
        )
    other = wire.open()
    with pytest.raises(NotAllowed):
        wire.as_seat(other, "cy")("cstp.listObligations", decisionId=session)


def test_a_condition_of_what_was_not_carried_obliges_nobody(wire: ApiModel) -> None:
    """D-22."""
    session = wire.open()
    wire.bring_to_vote(session, ada="Take SQLite")
    wire.say(
        session, "ada", "vote", position="conditional_support", condition=CONDITION, confidence=0.9
    )
    for seat in ("bob", "cy"):
        wire.say(session, seat, "vote", position="oppose", confidence=0.9)
    assert wire.read(session)["result"].get("decision") is None
    assert wire("get_decision", decisionId=session)["obligations"] == []


# Who spoke


def test_one_call_tells_a_decision_with_all_that_led_to_it(wire: ApiModel) -> None:
    """M-12, D-13: options, order, who argued what, candidates, votes with what moved them and their door, outcome."""
    session = wire.open(options=["sqlite", "postgres"])
    bob = wire.as_seat(session, "bob")
    for seat, choice in (("ada", "sqlite"), ("cy", "postgres")):
        wire.say(session, seat, "propose", choice=choice)
    bob(
        "cstp.contribute",
        deliberationId=session,
        type="propose",
        text="bob proposes",
        choice="postgres",
    )
    wire.say(session, "cy", "support", refersTo=2, text="it is small")
    for seat in ("ada", "bob"):
        wire.say(session, seat, "pass")
    number = wire.say(session, "ada", "synthesize", text="Take SQLite", choice="sqlite")["id"]
    for seat in ("bob", "cy"):
        wire.say(session, seat, "pass")
    wire.say(session, "ada", "vote", position="support", confidence=0.9)
    wire.say(session, "cy", "vote", position="support", confidence=0.9, movedBy=2)
    wire.say(session, "bob", "vote", position="support", confidence=0.9)
    wire("cstp.reviewDecision", decisionId=session, outcome="success")
    told = wire("get_decision", decisionId=session)
    assert (told["options"], told["outcome"], told["motion"]) == (
        ["sqlite", "postgres"],
        "success",
        number,
    )
    assert [(line["participant"], line["type"]) for line in told["contributions"]] == [
        ("ada", "propose"),
        ("cy", "propose"),
        ("bob", "propose"),
        ("cy", "support"),
        ("ada", "synthesize"),
        ("ada", "vote"),
        ("cy", "vote"),
        ("bob", "vote"),
    ]
    assert told["participantVotes"]["cy"]["movedBy"] == 2
    assert told["participantVotes"]["ada"]["via"] == "local"
    assert told["participantVotes"]["bob"]["via"].startswith("owner:")
    assert [(each["participant"], each["candidate"]) for each in told["candidates"]] == [
        ("ada", number)
    ]
    assert [each["candidate"] for each in told["tally"]] == [number]
    assert [
        (each["participant"], each["movedBy"]) for each in told["changedMinds"] if "movedBy" in each
    ] == [("cy", 2)]
    members = {each["seat"]: each for each in told["members"]}
    # The owner's vote is no forecast of bob.
    assert (members["bob"].get("position"), members["bob"]["firstChoice"]) == (None, "postgres")


# Families


def test_seven_agents_of_one_family_do_not_outvote_as_seven(wire: ApiModel) -> None:
    """D-20: they count as what they are; the same votes of unrelated agents carry more."""
    clan, others = [f"clan-{number}" for number in range(7)], ["free-1", "free-2"]

    def hold(*, is_stated: bool) -> Any:
        session = wire.open(*clan, *others)
        for number, seat in enumerate(clan if is_stated else ()):
            wire(
                "cstp.joinDeliberation",
                deliberationId=session,
                participant=seat,
                model=f"claude-opus-{number}",
            )
        wire.bring_to_vote(session, **{"clan-0": "Take SQLite"})
        for seat in clan:
            wire.say(session, seat, "vote", position="support", confidence=0.8)
        for seat in others:
            wire.say(session, seat, "vote", position="oppose", confidence=0.8)
        return wire.read(session)["result"]

    alone, stated = hold(is_stated=False), hold(is_stated=True)
    assert (alone["votes"], stated["votes"]) == (9, 9)
    assert stated["effectiveVotes"] < alone["effectiveVotes"] < 9
    assert stated["support"] < alone["support"]
    assert alone["consensusType"] == "majority"
    assert stated["consensusType"] == "contested"


def test_a_family_is_stated_at_the_opening_by_a_token_or_on_joining(wire: ApiModel) -> None:
    """D-20: and is kept with the decision."""
    session = wire.open({"id": "ada", "family": "gpt-5"}, "bob", "cy")
    wire.as_seat(session, "bob", family="claude")(
        "cstp.contribute", deliberationId=session, type="propose", text="p"
    )
    wire("join_deliberation", deliberationId=session, participant="cy", family="mistral-large")
    families = {each["id"]: each.get("family", "") for each in wire.read(session)["participants"]}
    assert families == {"ada": "gpt-5", "bob": "claude", "cy": "mistral-large"}
    wire("cstp.closeDeliberation", deliberationId=session, force=True)
    members = wire("get_decision", decisionId=session)["members"]
    assert {each["seat"]: each["family"] for each in members} == {
        "ada": "gpt",
        "bob": "claude",
        "cy": "mistral",
    }
    assert wire("moot.verifySession", sessionId=session).get("fault") is None
    wire.run(wire.moot.replay(session))


def test_a_family_is_not_changed_against_a_token_the_opening_or_a_vote(wire: ApiModel) -> None:
    """D-6, D-20: nothing is written when it is refused; the same family again is no change."""
    session = wire.open({"id": "ada", "family": "gpt"}, "bob", "cy")
    bob = wire.as_seat(session, "bob", family="claude")
    wire.bring_to_vote(session, ada="Take SQLite")
    wire.say(session, "cy", "vote", position="support", confidence=0.9)
    before = wire.read(session)["cursor"]
    with pytest.raises(NotAllowed, match="family 'claude', not of 'gpt-5'"):
        bob("cstp.joinDeliberation", deliberationId=session, family="gpt-5")
    with pytest.raises(BadRoster, match="was opened with the family 'gpt'"):
        wire("cstp.joinDeliberation", deliberationId=session, participant="ada", family="claude")
    with pytest.raises(OutOfTurn, match="from its first vote on"):
        wire("cstp.joinDeliberation", deliberationId=session, participant="cy", family="claude")
    with pytest.raises(BadRoster, match="has the family"):
        wire("cstp.joinDeliberation", deliberationId=session, participant="bob", family="a\nb")
    with pytest.raises(UnknownSeat):
        wire("cstp.joinDeliberation", deliberationId=session, participant="eve", family="claude")
    assert wire.read(session)["cursor"] == before
    wire("cstp.joinDeliberation", deliberationId=session, participant="ada", family="gpt-5-mini")
    assert wire.read(session)["cursor"] == before
    bob("cstp.joinDeliberation", deliberationId=session, family="claude-opus-4")
    assert {each["id"]: each.get("family") for each in wire.read(session)["participants"]}[
        "bob"
    ] == "claude"


# Pages


def test_joining_answers_by_page_however_much_was_said(wire: ApiModel) -> None:
    """D-4, D-16: no answer is longer than a page; the pages together hold every line once."""
    session = wire.open("ada", "bob")
    for seat in ("ada", "bob"):
        wire.say(session, seat, "propose", text=f"{seat} " + "x" * 19_000)
    for number in range(12):
        wire.say(session, "ada", "support", text=f"{number} " + "y" * 19_000, refersTo=3)
    read: list[int] = []
    cursor, more, pages = 0, True, 0
    while more:
        page = wire(
            "cstp.joinDeliberation", deliberationId=session, participant="bob", cursor=cursor
        )
        assert len(json.dumps(page)) < 200_000
        read += [line["id"] for line in page["new"]]
        cursor, more, pages = page["cursor"], page.get("more", False), pages + 1
    assert sorted(read) == list(range(2, 16))
    assert pages > 2


def test_lines_that_come_to_light_together_are_cut_rather_than_split(wire: ApiModel) -> None:
    """D-4: what was blind comes to light at one entry; each is shortened and says so."""
    seats = [f"seat-{number}" for number in range(30)]
    session = wire.open(*seats)
    for seat in seats:
        wire.say(session, seat, "propose", text="z" * 19_000, evidence=["e" * 2_000] * 50)
    own = wire("cstp.joinDeliberation", deliberationId=session, participant=seats[0])
    assert [line["participant"] for line in own["new"]] == seats[:1]
    page = wire(
        "cstp.joinDeliberation", deliberationId=session, participant=seats[0], cursor=own["cursor"]
    )
    assert [line["participant"] for line in page["new"]] == seats[1:]
    assert len(json.dumps(page)) < 250_000
    assert all(line["isCut"] for line in page["new"])
    assert len(wire.read(session)["contributions"][0]["text"]) == 19_000


def test_trust_tells_accuracy_and_the_brier_score_of_each_category(wire: ApiModel) -> None:
    """D-14."""
    session = decide_with_condition(wire, category="stores")
    wire("cstp.reviewDecision", decisionId=session, outcome="success")
    found = wire("cstp.getSourceTrust", source="ada", category="stores")
    (category,) = [each for each in found["categories"] if each["category"] == "stores"]
    assert category["brier"] == pytest.approx(0.01)
    assert 0.5 < found["accuracy"] < 1
    assert 0.5 < category["accuracy"] < 1


# What is decided and how likely it is right, over the wire


@pytest.mark.parametrize(
    ("blind", "decided", "confidence", "kind", "agreement", "strength"),
    [
        # D-26: nobody's answer led before; that they agreed only after talking is what remains to be said.
        ("ABCDD", "C", 0.2093, "contested", "after_reading", "weak"),
        ("DAAAA", "D", 0.2403, "contested", "after_reading", "disputed"),
        ("AAAAA", "A", 0.8537, "unanimous", "blind", "fair"),
    ],
)
def test_debates_that_said_95_say_over_the_wire_what_the_blind_answers_are_worth(
    wire: ApiModel,
    blind: str,
    decided: str,
    confidence: float,
    kind: str,
    agreement: str,
    strength: str,
) -> None:
    """D-12, D-26: five of one family, all support one synthesis at .95; each of these was `unanimous`, .95 and `strong`."""
    seats = [{"id": f"s{number}", "family": "gpt"} for number in range(5)]
    session = wire.open(*seats, options=["A", "B", "C", "D"], debate="always")
    for number, choice in enumerate(blind):
        wire.say(session, f"s{number}", "propose", choice=choice, confidence=0.95)
    for number in range(5):
        wire.say(session, f"s{number}", "pass")
    for number in range(5):
        words = {"text": f"The group takes {decided}.", "choice": decided} if number == 0 else {}
        wire.say(session, f"s{number}", "synthesize" if words else "pass", **words)
    for number in range(5):
        wire.say(session, f"s{number}", "vote", choice=decided, confidence=0.95)
    result = wire.read(session)["result"]
    assert result["confidence"] == pytest.approx(confidence, abs=2e-4)
    assert (result["consensusType"], result["agreement"], result["strength"]) == (
        kind,
        agreement,
        strength,
    )
    assert (result["choice"], result["support"], result["confidenceFrom"]) == (
        decided,
        1.0,
        "blind",
    )
    assert {vote["position"] for vote in result["participantVotes"].values()} == {"support"}


def test_five_that_exclude_each_other_share_one_probability_over_the_wire(wire: ApiModel) -> None:
    """D-12: A, B, C, D, B, each with a resolution of its own, all support all: what most wrote blind, and no five of .95."""
    session = wire.open(
        *[f"s{number}" for number in range(5)], options=["A", "B", "C", "D"], debate="always"
    )
    for number, choice in enumerate("ABCDB"):
        wire.say(session, f"s{number}", "propose", choice=choice)
    for number in range(5):
        wire.say(session, f"s{number}", "pass")
    lines = {}
    for number, choice in enumerate("ABCDB"):
        said = wire.say(
            session,
            f"s{number}",
            "synthesize",
            text=f"Take {choice}, says s{number}.",
            choice=choice,
        )
        lines[said["id"]] = choice
    ballot = [{"candidate": line, "position": "support"} for line in lines]
    for number in range(5):
        wire.say(session, f"s{number}", "vote", ballot=ballot, confidence=0.95)
    result = wire.read(session)["result"]
    assert result["choice"] == "B", "not the first of the roster"
    shares = {lines[each["candidate"]]: each["confidence"] for each in result["tally"]}
    assert sum(shares.values()) <= 1.001  # each is rounded
    assert result["strength"] in {"weak", "disputed"}


@pytest.mark.parametrize(
    ("typed", "position"),
    [
        ("OK, I oppose this", "oppose"),
        ("yes but no", ""),
        ("支持不了", ""),
        ("I support it, if it is fast", ""),
    ],
)
def test_what_a_person_types_into_the_mailbox_is_what_they_meant_or_is_asked(
    wire: ApiModel, typed: str, position: str
) -> None:
    """M-14: the same words as at the terminal; never the opposite, and the words are in the record."""
    session = wire.open()
    wire.bring_to_vote(session, ada="Take SQLite")
    before = wire.read(session)["cursor"]
    try:
        wire("moot.answer", sessionId=session, seat="bob", answer=typed)
    except BadAnswer:
        assert position == ""
        assert wire.read(session)["cursor"] == before, "it is asked again, and nothing was recorded"
        return
    for seat in ("ada", "cy"):
        wire.say(session, seat, "vote", position="support")
    votes = wire.read(session)["result"]["participantVotes"]
    assert votes["ada"]["position"] == "support"
    assert votes["ada"].get("confidence") is None, "what nobody stated is no sureness of zero"
    assert votes["bob"]["position"] in (
        {position} if position else {"oppose", "conditional_support"}
    )
    record = str(wire("moot.getEntries", sessionId=session)["entries"])
    assert typed in record
