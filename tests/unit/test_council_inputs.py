"""The user's later words in debate, advisory and consensus (Q-8): in every ask until answered, and votes put once more."""

import pytest
from tests.support.council_scenes import ADA, BOB, CY, Opener, at
from tests.support.play_council import (
    PASS,
    advisory,
    build_mailbox_seat,
    consensus,
    debate,
    propose,
    synthesize,
    vote,
)

from moothall.domain.facts import BudgetExhausted
from moothall.domain.ids import SeatId
from moothall.domain.topic import UserReply
from moothall.protocols.council.facts import Contribution, CouncilSettings
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.timeline import build_decision
from moothall.reading.answers import read_answer
from moothall.reports.decision import AnsweredInput
from moothall.reports.plain_text import render_markdown

STOP = "Stop, the budget is gone."


@pytest.mark.parametrize("opener", [debate, consensus])
def test_an_input_while_votes_are_out_puts_the_vote_once_more_to_all(opener: Opener) -> None:
    """Q-8: also to who has voted; once."""
    table = at("vote", opener).say(ada=vote("support"))
    first = table.asked
    table.give_input(STOP)
    assert [ask.seat for ask in table.asks] == ["ada", "bob", "cy"]
    assert not {*table.asked} & {*first}
    for name in ("ada", "bob", "cy"):
        assert "# From the user\n" in table.brief(name).own
        assert f"> {STOP}\n" in table.brief(name).own.partition("# You")[0]
    again = table.asked
    table.give_input("Do hurry.")
    assert table.asked == again
    table.say(ada=vote("oppose"), bob=vote("oppose"), cy=vote("oppose"))
    assert table.state.phase == "closed" or table.state.round == 2
    number = table.state.votes[SeatId("ada")]
    line = table.state.line(number)
    assert line is not None
    assert line.said.position == "oppose"


def test_a_vote_stands_where_its_seat_is_lost_when_it_is_put_again() -> None:
    """Q-8"""
    table = at("vote").say(ada=vote("support")).give_input(STOP)
    table.say(ada=None, bob=vote("oppose"), cy=vote("support"))
    assert table.ballots == {"ada": "support", "bob": "oppose", "cy": "support"}


def test_an_owner_who_decides_is_asked_once_more_with_the_input() -> None:
    """Q-8, D-8"""
    table = at("decide", advisory)
    before = table.asked
    table.give_input(STOP)
    assert table.asked != before
    brief = table.brief("ada")
    number = table.state.user_inputs[0].number
    assert f"to_user: a sentence to each of the user's #{number}." in brief.own
    said = synthesize("no", "We stop.", to_user=(UserReply(input=number, text="We stop now."),))
    decision = build_decision(table.says("ada", said).timeline)
    assert decision.answers == (AnsweredInput(input=number, asked=STOP, answer="We stop now."),)
    assert "you_unanswered" not in decision.reservations


def test_an_exhausted_budget_puts_nothing_again() -> None:
    """Q-8, M-5"""
    table = at("vote").put(BudgetExhausted(budget="tokens", spent=9.0, limit=9.0))
    before = table.asked
    assert table.give_input(STOP).asked == before


@pytest.mark.parametrize("phase", ["argue", "synthesize"])
def test_an_input_stands_in_every_later_ask_until_each_text_that_is_voted_on_answers_it(
    phase: str,
) -> None:
    """Q-8"""
    table = at(phase).give_input("And the union?")
    number = table.state.user_inputs[0].number
    asked = f"[#{number}]\n> And the union?\n\n# You\n"
    assert asked in table.brief(table.asks[0].seat).own
    table.pass_until("synthesize")
    brief = table.brief(table.asks[0].seat)
    assert asked in brief.own
    assert f"to_user: a sentence to each of the user's #{number}." in brief.own
    assert brief.schema is not None
    assert brief.schema["properties"]["to_user"]["items"]["properties"]["input"]["enum"] == [number]
    reply = (UserReply(input=number, text="It is asked first."),)
    table.say(ada=synthesize("yes", to_user=reply), bob=PASS, cy=PASS)
    assert table.state.phase == "vote"
    assert "# From the user" not in table.brief("bob").own
    assert "to_user" not in table.brief("bob").own
    table.say_for_all(vote("support"))
    decision = build_decision(table.timeline)
    assert decision.answers == (
        AnsweredInput(input=number, asked="And the union?", answer="It is asked first."),
    )


def test_who_votes_answers_what_the_text_does_not() -> None:
    """Q-8: the result says who answered what; an input that nobody answered is counted."""
    table = at("vote").give_input("And the union?").give_input("Who pays?")
    one, other = (each.number for each in table.state.user_inputs)
    reply = (UserReply(input=one, text="Ask them in May."),)
    table.say(ada=vote("support", to_user=reply), bob=vote("support"), cy=vote("support"))
    decision = build_decision(table.timeline)
    assert [(each.input, each.answer) for each in decision.answers] == [
        (one, "ada: Ask them in May."),
        (other, None),
    ]
    assert (decision.strength, decision.reservations[0]) == ("weak", "you_unanswered")
    minutes = render_markdown(build_council_report(table.timeline))
    assert "1 of the user's inputs is not answered." in minutes
    assert "ada: Ask them in May." in minutes


def test_what_all_wrote_blind_does_not_decide_what_the_user_added_since() -> None:
    """Q-8, D-24: nobody had read it."""
    settings = CouncilSettings(debate="auto")
    table = debate(ADA, BOB, CY, settings=settings)
    table.say(ada=propose("yes"), bob=propose("yes")).give_input(STOP).say(cy=propose("yes"))
    assert table.phase == (1, "argue")
    never = debate(ADA, BOB, settings=CouncilSettings(debate="never"))
    never.say(ada=propose("yes")).give_input(STOP).say(bob=propose("yes"))
    assert never.phase == (1, "vote")
    assert f"> {STOP}" in never.brief("ada").own


def test_a_vote_ahead_of_the_users_word_is_asked_for_anew() -> None:
    """Q-8, D-7"""
    table = debate(ADA, build_mailbox_seat("bob"), CY)
    table.say(ada=propose("yes"), bob=propose("no"), cy=propose("yes")).pass_until("synthesize")
    table.say(ada=PASS).says("bob", vote("support")).give_input(STOP).say(cy=PASS)
    assert table.state.phase == "vote"
    assert [ask.seat for ask in table.asks] == ["ada", "bob", "cy"]
    table.say(ada=vote("support"), bob=None, cy=vote("support"))
    assert table.ballots == {"ada": "support", "bob": "support", "cy": "support"}


def test_a_reply_to_no_input_is_left_out() -> None:
    """Q-8, M-2"""
    table = at("vote").give_input(STOP)
    raw = {
        "ballot": [{"candidate": 2, "position": "support"}],
        "text": "Yes.",
        "to_user": [{"input": 99, "text": "Whom?"}],
    }
    read = read_answer(table.brief("ada"), raw)
    assert isinstance(read.said, Contribution)
    assert read.said.to_user == ()
    away = debate(ADA, build_mailbox_seat("bob"), CY)
    away.say(ada=propose("yes"), bob=propose("no"), cy=propose("yes")).pass_until("vote")
    fault = away.fault("bob", vote("support", to_user=(UserReply(input=99, text="?"),)))
    assert fault is not None
    assert "the user's later words are: none" in fault


def test_a_person_who_decides_is_asked_for_an_answer_to_the_user() -> None:
    """Q-8, M-8"""
    table = at("decide", advisory).give_input(STOP)
    brief = table.brief("ada")
    assert brief.person is not None
    steps = [step for step in brief.person().steps if step.name == "to_user"]
    assert [step.group for step in steps] == [str(table.state.user_inputs[0].number)]
    assert STOP in steps[0].text
