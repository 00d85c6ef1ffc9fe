"""Seats fail. The meeting goes on without them, says so, and never makes a consensus of silence."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    Cli,
    Guest,
    Item,
    Leaps,
    Says,
    Script,
    draft,
    facts,
    held,
    listens,
    position,
    round_robin,
    seat_words,
    speech,
    stand,
    timeline,
    wants,
    with_guests,
    word_stored_cause,
    write_script,
)

from moothall import Decision, Seat
from moothall.domain.budget import Usage
from moothall.domain.effects import Brief
from moothall.domain.ids import SeatId
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    Intent,
    PersonaSpeech,
    Position,
    Stand,
)
from moothall.ports.participant import Answer, NoAnswer


def record(cli: Cli, session: str = "s") -> list[dict[str, Any]]:
    return facts(cli("export", session, "jsonl").out)


def lost(cli: Cli) -> list[tuple[str, str]]:
    """Asks and reasons of the losses on record, in order."""
    return [(fact["ask"], fact["reason"]) for fact in record(cli) if fact["fact"] == "seat_lost"]


LOSSES = [
    ({"fail": "timeout"}, "timeout"),
    ({"fail": "error"}, "error"),
    ({"fail": "refused"}, "refused"),
    ({"raw": "I would rather not say."}, "refused"),
    ({"raw": '{"reaction_score": 7, "intent_to_speak": true}'}, "malformed"),
    ({"raw": ""}, "malformed"),
]


@pytest.mark.parametrize(("failing", "reason"), LOSSES)
def test_a_lost_bid_is_silence_for_this_turn(
    cli: Cli, tmp_path: Path, failing: dict[str, Any], reason: str
) -> None:
    """P-9: recorded as what it was; the seat is asked again in the next turn."""
    talk: Script = {
        "a": {
            "intent": [wants(0.5), listens()],
            "speech": [speech("a")],
            "draft": [draft("So.", [2, 3])],
        },
        "b": {
            "intent": [{**wants(1.0), **failing}, wants(0.9)],
            "speech": [speech("b")],
            "stand": [stand()],
        },
    }
    platform = write_script(tmp_path / "s.toml", talk)
    decided = cli.json("run", "Late?", *seat_words(platform, "ab"), "--session", "s")
    assert lost(cli) == [("1.intent.b", reason)]
    assert [line["speaker"] for line in timeline(cli("export", "s", "context").out)] == [
        "USER",
        "a",
        "b",
    ]
    floors = [
        (fact["turn"], fact["seat"])
        for fact in record(cli)
        if fact["fact"] == "persona.floor_given"
    ]
    assert floors == [(1, "a"), (2, "b")]
    assert decided["lost"] == [
        {
            "seat": "b",
            "times": 1,
            "last": reason,
            "weightShare": 0.5,
            "didNotVote": False,
            "why": decided["lost"][0]["why"],
        }
    ]
    assert decided["outcomeUncertain"] is False
    assert (
        len(
            re.findall(
                r"^Turn 1 · .*\n\n(?:- .*\n)*- `░{20}` b – ",
                cli("export", "s", "minutes").out,
                re.MULTILINE,
            )
        )
        == 1
    )


def test_a_lost_speech_hands_the_floor_to_the_next(cli: Cli, tmp_path: Path) -> None:
    """P-12: by score; nothing half made is in the ledger."""
    talk: Script = {
        "a": {"intent": [wants(0.9)], "speech": [{"fail": "error"}], "stand": [stand()]},
        "b": {"intent": [wants(0.8)], "speech": [{"raw": "  "}], "stand": [stand()]},
        "c": {"intent": [wants(0.7)], "speech": [speech("c speaks")], "draft": [draft("So.", [2])]},
    }
    platform = write_script(tmp_path / "s.toml", talk)
    words = ("--set", "summarizer=c", "--session", "s", "--set", "blind=false")
    decided = cli.json("run", "Who?", *seat_words(platform, "abc"), *words)
    found = timeline(cli("export", "s", "context").out)
    assert [(line["id"], line["speaker"], line["content"]) for line in found] == [
        (1, "USER", "Who?"),
        (2, "c", "c speaks"),
    ]
    assert lost(cli) == [("1.speech.a", "error"), ("1.speech.b", "malformed")]
    floors = [fact["seat"] for fact in record(cli) if fact["fact"] == "persona.floor_given"]
    assert floors == ["a", "b", "c"]
    assert decided["decision"] == "So."


def test_a_draft_without_a_decision_hands_the_pen_on_and_one_without_grounds_does_not(
    cli: Cli, tmp_path: Path
) -> None:
    """P-15, M-2: the next by weight writes; what rests on an entry that is not there is taken without it, and noted."""
    talk: Script = {
        "a": {
            "intent": [wants()],
            "speech": [speech("x")],
            "draft": [{"raw": '{"confidence": 0.9}'}],
            "stand": [stand()],
        },
        "b": {
            "draft": [draft("Grounds, and some that are not there.", [2, 9])],
            "stand": [stand()],
        },
        "c": {"stand": [stand()]},
    }
    platform = write_script(tmp_path / "s.toml", talk)
    decided = cli.json(
        "run", "Grounds?", *seat_words(platform, "abc"), "--set", "summarizer=a", "--session", "s"
    )
    assert lost(cli) == [("2.draft.a", "malformed")]
    assert (decided["author"], decided["decision"]) == (
        "b",
        "Grounds, and some that are not there.",
    )
    assert decided["decisionEntries"] == [2]
    assert [each["didNotVote"] for each in decided["lost"]] == [False]
    (drafted,) = [fact for fact in record(cli) if fact["fact"] == "persona.conclusion_drafted"]
    assert drafted["corrections"] == ["left_out decision.entries.1 9"]


def test_a_meeting_that_loses_everyone_ends_without_a_decision(cli: Cli, tmp_path: Path) -> None:
    """P-12, P-14, P-18: code 4; never a consensus."""
    everything = {
        kind: [{"fail": "error"}] * 4 for kind in ("position", "intent", "speech", "draft", "stand")
    }
    platform = write_script(
        tmp_path / "s.toml", {"a": everything, "b": everything, "c": everything}
    )
    done = cli("run", "Anyone?", *seat_words(platform, "abc"), "--session", "s", code=4)
    assert "\nNot decided: 3 of 3 gave no answer (a: an error; b: an error).\n" in done.out
    assert "\nLost seats\n– a: failed" in cli("show", "s", "--report").out
    decided = cli.json("show", "s")
    assert (decided["status"], decided["endedBy"], decided["decision"], decided.get("support")) == (
        "concluded",
        "seats_lost",
        None,
        None,
    )
    assert [(each["seat"], each["didNotVote"]) for each in decided["lost"]] == [
        ("a", True),
        ("b", True),
        ("c", True),
    ]
    assert decided["positions"] == []
    document = cli("export", "s", "context").out
    assert len(timeline(document)) == 1
    assert '"agreed": []' in document
    for form in ("minutes", "html"):
        assert "Not decided: 3 of 3 gave no answer" in cli("export", "s", form).out


def test_a_meeting_whose_speakers_all_fail_says_so(cli: Cli, tmp_path: Path) -> None:
    """P-12, P-14: bids there are, contributions there are none; the talk ends for lost seats, not for quiet."""
    seat: Mapping[str, Sequence[Item]] = {
        "intent": [wants()] * 4,
        "speech": [{"fail": "error"}] * 4,
        "draft": [draft("Nothing was said.", [1])],
        "stand": [stand()],
    }
    platform = write_script(tmp_path / "s.toml", {"a": seat, "b": seat})
    decided = cli.json("run", "Say?", *seat_words(platform, "ab"), "--session", "s")
    assert decided["endedBy"] == "seats_lost"
    assert decided["turns"] == 0


@pytest.mark.parametrize(
    ("weights", "confidence", "differs"),
    [((1.0, 1.0), 0.8, True), ((3.0, 1.0), 0.8, False), ((1.0, 3.0), 0.8, True)],
)
def test_a_missing_last_word_is_named_with_what_it_could_have_changed(
    cli: Cli, tmp_path: Path, weights: tuple[float, float], confidence: float, differs: bool
) -> None:
    """P-18: the seat, the share of weight that it held, whether the outcome could have been another with it."""
    talk: Script = {
        "a": {
            "intent": [wants()],
            "speech": [speech("x")],
            "draft": [draft("Yes.", [2], confidence)],
        },
        "b": {"stand": [{"fail": "timeout"}]},
    }
    write_script(tmp_path / "s.toml", talk)
    seats = "".join(
        f'[[seat]]\nid = "{name}"\nplatform = "script:s.toml"\nweight = {weight}\n'
        for name, weight in zip("ab", weights, strict=True)
    )
    (tmp_path / "p.toml").write_text(seats)
    done = cli("run", "Last word?", "--panel", "p.toml", "--set", "summarizer=a", "--session", "s")
    decided = cli.json("show", "s")
    share = weights[1] / sum(weights)
    assert decided["lost"] == [
        {
            "seat": "b",
            "times": 1,
            "last": "timeout",
            "weightShare": share,
            "didNotVote": True,
            "why": decided["lost"][0]["why"],
        }
    ]
    assert decided["outcomeUncertain"] is differs
    assert (decided["support"], decided["turnout"]) == (1.0, 1 - share)
    told = "With the missing last words the outcome could have been another."
    assert (told in " ".join(done.out.replace("│", " ").split())) is differs
    assert (told in cli("export", "s", "minutes").out) is differs
    assert (
        f"holds {share * 100:.0f} % of the weight; its last word is missing"
        in cli("export", "s", "minutes").out
    )


def test_a_lost_position_is_no_position(cli: Cli, tmp_path: Path) -> None:
    """P-17: the others' positions stand; the lost seat has none before the talk."""
    talk: Script = {
        "a": {"position": [position("for")], "draft": [draft()]},
        "b": {"position": [{"raw": "{}"}], "stand": [stand("oppose", position="against")]},
        "c": {"position": [position("unsure", 0.1)], "stand": [stand("abstain")]},
    }
    platform = write_script(tmp_path / "s.toml", talk)
    decided = cli.json("run", "Before?", *seat_words(platform, "abc"), "--session", "s")
    assert [
        (each["seat"], each.get("before"), each["verdict"]) for each in decided["positions"]
    ] == [
        ("a", "for", "support"),
        ("b", None, "oppose"),
        ("c", "unsure", "abstain"),
    ]
    assert decided["turnout"] == pytest.approx(2 / 3)


# Budgets.


def test_the_turn_budget_ends_the_talk_and_the_record_says_so(cli: Cli, tmp_path: Path) -> None:
    """P-14: two speeches, then the conclusion."""
    platform = write_script(
        tmp_path / "s.toml",
        {
            seat: {**kinds, "draft": [draft("So.", [2])]}
            for seat, kinds in round_robin("ab", 9).items()
        },
    )
    decided = cli.json(
        "run", "How long?", *seat_words(platform, "ab"), "--turns", "2", "--session", "s"
    )
    assert (decided["endedBy"], decided["turns"]) == ("turns", 2)
    ended = [fact for fact in record(cli) if fact["fact"] == "persona.talk_ended"]
    assert ended == [{"fact": "persona.talk_ended", "turn": 3, "reason": "turns"}]
    assert "the turn budget" in cli("show", "s").out


def test_the_time_budget_ends_the_talk_and_withdraws_what_was_asked(
    cli: Cli, tmp_path: Path
) -> None:
    """P-14: while a seat takes its time; what it was asked is withdrawn, not lost."""
    talk: Script = {
        "a": {
            "intent": [wants(0.9)],
            "speech": [speech("never heard", delay=60)],
            "draft": [draft("So.", [1])],
        },
        "b": {"intent": [listens()], "stand": [stand()]},
    }
    platform = write_script(tmp_path / "s.toml", talk)
    decided = cli.json(
        "run", "How long?", *seat_words(platform, "ab"), "--time", "0.5s", "--session", "s"
    )
    assert (decided["endedBy"], decided["lost"]) == ("time", [])
    kinds = [fact["fact"] for fact in record(cli)]
    assert (
        kinds.index("budget_exhausted")
        < kinds.index("persona.talk_ended")
        < kinds.index("asks_withdrawn")
    )
    (spent,) = [fact for fact in record(cli) if fact["fact"] == "budget_exhausted"]
    assert spent["budget"] == "time"
    assert spent["spent"] >= spent["limit"] == 0.5
    assert len(timeline(cli("export", "s", "context").out)) == 1


def talkative(usage: Usage) -> Says:
    """Always wants to speak, and costs something each time."""

    async def says(brief: Brief) -> Answer | NoAnswer:
        return Answer(said=_said(brief), usage=usage)

    return says


def _said(brief: Brief) -> object:
    match brief.form.kind:
        case "position":
            return Position(position="here", confidence=0.5)
        case "intent":
            return Intent(reaction_score=0.9, intent_to_speak=True, reason="again")
        case "speech":
            return PersonaSpeech(content=f"{brief.seat.id} in turn {brief.ask.turn}")
        case "draft":
            return Draft(decision=DraftClaim(text="Enough.", entries=(1,)), confidence=0.5)
        case _:
            return Stand(verdict="support", confidence=0.5)


def meeting(cli: Cli, guests: dict[str, Guest], **plan: Any) -> Decision:
    """Hold session `s` with these participants."""

    async def work() -> Decision:
        async with with_guests(cli, guests) as moot:
            seats = plan.pop("seats", dict.fromkeys(guests, "mailbox"))
            decision: Decision = await moot.hold(
                "What does it cost?", seats=seats, session="s", **plan
            )
            return decision

    return held(work())


@pytest.mark.parametrize(
    ("budget", "reason", "spent", "told"),
    [
        ({"tokens": 85}, "tokens", 90, "90 of 85 tokens"),
        ({"money": 0.0042}, "money", 0.0045, "0.0045 of 0.0042 US dollars"),
    ],
)
def test_the_token_and_money_budgets_end_the_talk(
    cli: Cli, budget: dict[str, float], reason: str, spent: float, told: str
) -> None:
    """P-14: calls of 10 tokens and 0.0005 $ each, three in a turn; the record says which budget it was, and what was spent."""
    usage = Usage(tokens_in=7, tokens_out=3, cost=500, calls=1)
    decision = meeting(
        cli, {seat: Guest(talkative(usage)) for seat in ("a", "b")}, turns=50, **budget
    )
    assert decision.ended_by == reason
    assert decision.decision is not None
    assert [fact for fact in record(cli) if fact["fact"] == "budget_exhausted"] == [
        {
            "fact": "budget_exhausted",
            "budget": reason,
            "spent": spent,
            "limit": budget[reason],
        }
    ]
    assert (decision.spent.tokens, decision.spent.calls, decision.spent.cost) == (110, 11, 5_500)
    assert told in cli("watch", "s").out


def test_the_deciders_word_that_enough_was_said_ends_the_talk(cli: Cli, tmp_path: Path) -> None:
    """P-14: `sufficient` counts from the decider alone."""
    talk = round_robin("ab", 4)
    talk["a"]["intent"] = [{**item, "sufficient": True} for item in talk["a"]["intent"]]
    talk["b"]["intent"][2] = {**talk["b"]["intent"][2], "sufficient": True}
    talk["b"]["draft"] = [draft("Enough.", [2, 3])]
    platform = write_script(tmp_path / "s.toml", talk)
    decided = cli.json(
        "run", "Enough?", *seat_words(platform, "ab"), "--set", "summarizer=b", "--session", "s"
    )
    assert (decided["endedBy"], decided["turns"], decided["author"]) == ("sufficient", 2, "b")


# Participants that are other people's code.


def patient(name: str, patience: float) -> Seat:
    return Seat(id=SeatId(name), platform="mailbox", patience=patience)


def test_a_participant_that_hangs_past_its_patience_is_lost_and_the_meeting_goes_on(
    cli: Cli, leaps: Leaps
) -> None:
    """P-9, P-12: its bid, later its speech; each a timeout on record."""

    async def hangs(brief: Brief) -> Answer | NoAnswer:
        if (brief.form.kind, brief.ask.turn) in {("intent", 1), ("speech", 2)}:
            leaps.by(30.0)
            await asyncio.Event().wait()
        return Answer(said=_said(brief))

    guests = {"a": Guest(hangs), "b": Guest(talkative(Usage()))}
    seats = [patient("a", 30.0), patient("b", 600.0)]
    decision = meeting(cli, guests, seats=seats, turns=3, settings={"summarizer": "b"})
    assert lost(cli) == [("1.intent.a", "timeout"), ("2.speech.a", "timeout")]
    speakers = [line["speaker"] for line in timeline(cli("export", "s", "context").out)]
    assert speakers == ["USER", "b", "b", "a"]
    assert [(each.seat, each.times, each.last, each.did_not_vote) for each in decision.lost] == [
        ("a", 2, "timeout", False)
    ]


def test_a_participant_that_raises_is_lost_and_the_meeting_goes_on(cli: Cli) -> None:
    """P-9: whatever it raises; the record keeps what and which."""

    async def raises(brief: Brief) -> Answer | NoAnswer:
        if brief.form.kind == "intent":
            raise ValueError("a fault\nof its \x1b[31mown")
        return Answer(said=_said(brief))

    guests = {"a": Guest(raises), "b": Guest(talkative(Usage()))}
    decision = meeting(cli, guests, turns=2)
    assert decision.decision is not None
    assert {reason for _, reason in lost(cli)} == {"error"}
    details = {word_stored_cause(fact) for fact in record(cli) if fact["fact"] == "seat_lost"}
    assert details == {"ValueError: a fault\nof its \x1b[31mown"}
    assert "✗ a: an error (ValueError: a fault of its [31mown)" in cli("watch", "s").out


def test_a_participant_that_cancels_itself_is_lost_like_any_other(cli: Cli) -> None:
    """P-9: a library under a participant may let a cancellation of its own escape."""

    async def cancels(brief: Brief) -> Answer | NoAnswer:
        if brief.form.kind == "intent" and brief.ask.turn == 1:
            raise asyncio.CancelledError
        return Answer(said=_said(brief))

    guests = {"a": Guest(cancels), "b": Guest(talkative(Usage()))}
    seats = [patient("a", 600.0), patient("b", 600.0)]
    decision = meeting(cli, guests, seats=seats, turns=2)
    assert decision.decision is not None
    assert len(lost(cli)) == 1


@pytest.mark.parametrize("said", ["a text", None, Intent(reaction_score=7.0, intent_to_speak=True)])
def test_a_participant_that_answers_in_the_wrong_shape_is_lost(cli: Cli, said: object) -> None:
    """P-9: what cannot be read again never gets into the ledger."""

    async def wrong(brief: Brief) -> Answer | NoAnswer:
        return Answer(said=said if brief.form.kind == "intent" else _said(brief))

    guests = {"a": Guest(wrong), "b": Guest(talkative(Usage()))}
    decision = meeting(cli, guests, turns=1)
    assert decision.decision is not None
    assert [reason for _, reason in lost(cli)] == ["malformed"]
    assert cli.verify("s") == {"s": None}
    cli("replay", "s")
