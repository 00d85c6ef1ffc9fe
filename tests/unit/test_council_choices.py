"""D-24, D-12: among options a vote is a choice, with one's own blind position in sight and the minority heard before it."""

from collections.abc import Mapping
from typing import cast

import pytest
from tests.support.play_council import (
    DeliberationRun,
    build_mailbox_seat,
    build_seat,
    challenge,
    debate,
    propose,
    synthesize,
)

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.errors import BadAnswer
from moothall.protocols.council.facts import CandidateVote, Contribution, CouncilSettings
from moothall.protocols.council.timeline import build_decision
from moothall.protocols.council.validation import ContributionValidator
from moothall.reading.answers import read_answer
from moothall.reading.person_asks import build_person_ask, interpret_plain_text, read_plain_answer
from moothall.scoring.positions import VotePosition

OPTIONS = ("Postgres", "SQLite", "Files")


def bring_to_vote(
    *syntheses: str, blind: tuple[str, ...] = ("Postgres", "Postgres", "SQLite"), mailbox: str = ""
) -> DeliberationRun:
    """Three seats that wrote these choices blind; the last challenges the first, and these are the resolutions."""
    names = ("ada", "bob", "eve")
    seats: list[Seat] = [
        build_mailbox_seat(name) if name == mailbox else build_seat(name) for name in names
    ]
    table = debate(
        *seats,
        subject=Topic(options=OPTIONS),
        settings=CouncilSettings(debate="always", rebuttal=False, order="open"),
    )
    for name, choice in zip(names, blind, strict=True):
        table.says(name, propose(choice, f"{choice} is what {name} would take. It is fine."))
    table.pass_until("argue").says(
        "eve", challenge(2, "One file is enough for us. Nobody needs a server.")
    )
    table.pass_until("synthesize")
    for name, choice in zip(names, syntheses, strict=False):
        table.says(name, synthesize(choice, f"The group takes {choice} ({name})."))
    return table.pass_until("vote")


def read_vote(table: DeliberationRun, name: str, **given: object) -> Contribution:
    said = read_answer(table.brief(name), given).said
    assert isinstance(said, Contribution)
    return said


def test_a_choice_is_a_position_on_the_motion() -> None:
    """D-24: who chooses what the motion names supports it, who chooses otherwise opposes it, also what nobody proposed."""
    table = bring_to_vote("Postgres")
    assert read_vote(table, "ada", choice="Postgres").position == "support"
    assert read_vote(table, "bob", choice="SQLite", text="One file.").position == "oppose"
    assert read_vote(table, "bob", choice="Files").position == "oppose"
    assert read_vote(table, "eve", choice="abstain").position == "abstain"
    conditional = read_vote(
        table, "eve", choice="Postgres", condition="There is a backup.", due="May"
    )
    assert (conditional.position, conditional.condition, conditional.due) == (
        "conditional_support",
        "There is a backup.",
        "May",
    )


def test_a_choice_is_a_position_on_each_resolution() -> None:
    """D-24: those that name it are supported, the others opposed: a vote for everything is not possible."""
    table = bring_to_vote("Postgres", "SQLite", "Postgres")
    said = read_vote(table, "eve", choice="Postgres", condition="There is a backup.")
    positions = {each.candidate: (each.position, each.condition) for each in said.ballot}
    backed, against = ("conditional_support", "There is a backup."), ("oppose", "")
    assert list(positions.values()) == [backed, against, backed]
    assert said.condition == "", "a condition is one obligation"
    assert said.choice == "Postgres", "what was said stands in the record"


def test_an_approval_still_counts_and_beside_a_choice_the_choice_does() -> None:
    """D-24: scripts and outside agents send approvals; what was asked for is the choice."""
    table = bring_to_vote("Postgres")
    assert read_vote(table, "ada", position="support").position == "support"
    assert read_vote(table, "ada", position="oppose", choice="SQLite").position == "oppose"
    assert read_vote(table, "ada", position="support", choice="SQLite").position == "oppose"
    with pytest.raises(
        BadAnswer, match=r"a vote needs a choice \(Postgres, SQLite, Files\) or a position"
    ):
        read_vote(table, "ada", choice="Oracle")


def test_an_agent_from_outside_is_asked_which_of_two_sides_it_means() -> None:
    """D-24, M-13: its form has a position or a choice; what has both, and they part, is refused."""
    table = bring_to_vote("Postgres", mailbox="eve")
    validate = ContributionValidator(table.rules.variant, table.state, SeatId("eve"))
    for position, choice, is_refused in (
        ("support", "SQLite", True),
        ("oppose", "Postgres", True),
        ("support", "abstain", True),
        ("abstain", "Postgres", True),
        ("support", "Postgres", False),
        ("oppose", "SQLite", False),
    ):
        said = Contribution(
            type="vote", position=cast("VotePosition", position), choice=choice, text="So it is."
        )
        fault = validate(said)
        assert ("which of the two is meant" in (fault or "")) is is_refused, (
            position,
            choice,
            fault,
        )


def test_the_form_asks_for_the_choice_and_the_prompt_shows_where_one_stood() -> None:
    """D-24: options in the schema, the own blind position in sight, the minority heard with one sentence each."""
    table = bring_to_vote("Postgres")
    brief = table.brief("bob")
    assert brief.schema is not None
    assert brief.schema["properties"]["choice"]["enum"] == [*OPTIONS, "none of these", "abstain"]
    assert "choice" in brief.schema["required"]
    assert "position" not in brief.schema["required"]
    assert "Few share the view of #5: read those again first." in brief.own
    assert "Before you read anyone you wrote #3." in brief.own
    assert "Postgres is what bob would take." not in brief.own, "it stands in the table"
    assert "moved_by: " in brief.own


def test_without_a_minority_nobody_is_quoted() -> None:
    table = bring_to_vote("Postgres", blind=("Postgres", "Postgres", "Postgres"))
    assert "Few share" not in table.brief("bob").own


@pytest.mark.parametrize("syntheses", [("Postgres",), ("Postgres", "SQLite")])
@pytest.mark.parametrize("mailbox", ["", "eve"])
def test_a_person_is_asked_for_the_option_too(mailbox: str, syntheses: tuple[str, ...]) -> None:
    """D-24: at the terminal, on the page and in a mailbox; a condition and the reason are theirs to add."""
    table = bring_to_vote(*syntheses, mailbox=mailbox)
    person = build_person_ask(table.brief("eve"))
    first, condition, due, why, sure, *_ = person.steps
    assert (first.text, [choice.value for choice in first.choices]) == (
        "Which option do you vote for?",
        [*OPTIONS],
    )
    assert [command.word for command in person.commands] == ["/abstain"]
    assert (condition.is_needed, due.name) == (False, "due")
    assert (why.name, sure.name) == ("why", "confidence")
    assert "moved_by" in {step.name for step in person.steps}, (
        "a mind that was made up before can have been changed"
    )
    said = read_answer(
        table.brief("eve"),
        person.build({"choice": "SQLite", "condition": "with backups", "why": "One file."}),
    ).said
    assert isinstance(said, Contribution)
    assert (said.choice, said.text) == ("SQLite", "One file.")
    positions = {each.position for each in said.ballot} if said.ballot else {said.position}
    assert positions == ({"oppose"} if len(syntheses) == 1 else {"oppose", "conditional_support"})


@pytest.mark.parametrize(
    ("text", "choice", "position", "condition"),
    [
        ("SQLite", "SQLite", "oppose", ""),
        ("I vote for Postgres, because it is known.", "Postgres", "support", ""),
        ("abstain", "abstain", "abstain", ""),
        ("I abstain.", "abstain", "abstain", ""),
        ("I support it.", "", "support", ""),
        ("Yes, if we have backups.", "", "conditional_support", "we have backups"),
    ],
)
def test_the_words_of_a_person_name_an_option_or_approve_of_the_motion(
    text: str, choice: str, position: VotePosition, condition: str
) -> None:
    """D-24: a letter in a mailbox is read by its option; who writes of the motion is understood as well."""
    table = bring_to_vote("Postgres", mailbox="eve")
    said = read_answer(
        table.brief("eve"), read_plain_answer(build_person_ask(table.brief("eve")), text)
    ).said
    assert isinstance(said, Contribution)
    assert (said.position, said.condition) == (position, condition)
    assert said.choice in {choice, "", "Postgres"}


def test_words_that_name_no_option_are_refused_with_the_options() -> None:
    """D-24: one sentence."""
    table = bring_to_vote("Postgres", mailbox="eve")
    with pytest.raises(BadAnswer, match=r"one of: Postgres \| SQLite \| Files .*/abstain"):
        read_plain_answer(build_person_ask(table.brief("eve")), "The weather is fine.")


@pytest.mark.parametrize(
    ("text", "answers", "accepts"),
    [
        ("no, I hold to it: the log is on since May.", (5,), ()),
        ("no", (5,), ()),
        ("No, because the log is on.", (5,), ()),
        ("#5: no, I hold to it", (5,), ()),
        ("5. no", (5,), ()),
        ("yes: it was off in May", (), (5,)),
    ],
)
def test_the_words_of_a_person_hold_to_what_was_challenged_or_give_way(
    text: str, answers: tuple[int, ...], accepts: tuple[int, ...]
) -> None:
    """M-8: "no" is of the challenge, and is not weighed against the kind of contribution that code knows."""
    seats: list[Seat] = [build_mailbox_seat("ada"), build_seat("bob"), build_seat("eve")]
    table = debate(
        *seats,
        subject=Topic(options=OPTIONS),
        settings=CouncilSettings(debate="always", order="open"),
    )
    for name, choice in zip(("ada", "bob", "eve"), ("Postgres", "Postgres", "SQLite"), strict=True):
        table.says(name, propose(choice, f"{choice} is what {name} would take. It is fine."))
    table.pass_until("argue").says(
        "eve", challenge(2, "One file is enough for us. Nobody needs a server.")
    )
    table.pass_until("answer")
    brief = table.brief("ada")
    said = read_answer(brief, interpret_plain_text(brief, text), is_strict=True).said
    assert isinstance(said, Contribution)
    assert (said.answers, said.accepts) == (answers, accepts)


def test_an_option_that_is_named_is_a_proposal_without_further_words() -> None:
    """M-2: the choice is the substance; that no text came with it is noted."""
    reading = read_answer(
        debate(build_seat("ada"), build_seat("bob"), subject=Topic(options=OPTIONS)).brief("ada"),
        {"choice": "SQLite"},
    )
    assert isinstance(reading.said, Contribution)
    assert (reading.said.choice, reading.said.text, reading.mends) == (
        "SQLite",
        "SQLite",
        ("missing text",),
    )


@pytest.mark.parametrize(
    "raw",
    [
        {"choice": "SQLite", "text": "I choose Postgres."},
        {"choice": "SQLite", "text": "One file.", "vote": "Postgres"},
        '{"choice": "SQLite", "text": "One file."} Actually, I choose Postgres.',
    ],
)
@pytest.mark.parametrize("is_strict", [False, True])
def test_a_proposal_whose_words_name_another_option_is_asked_which(
    raw: object, is_strict: bool
) -> None:
    """M-14: nothing is guessed where words and label disagree."""
    table = debate(build_seat("ada"), build_seat("bob"), subject=Topic(options=OPTIONS))
    with pytest.raises(BadAnswer, match="which of the two is meant"):
        read_answer(table.brief("ada"), raw, is_strict=is_strict)


@pytest.mark.parametrize("condition", ["no conditions", "Unconditional.", "无条件", False])
def test_a_condition_that_says_there_is_none_is_no_obligation(condition: object) -> None:
    """D-22: only what must hold is an obligation."""
    said = read_vote(bring_to_vote("Postgres"), "ada", choice="Postgres", condition=condition)
    assert (said.position, said.condition) == ("support", "")


@pytest.mark.parametrize("is_strict", [False, True])
def test_a_support_beside_a_condition_is_conditional(is_strict: bool) -> None:
    """M-2, D-22: what must hold is not thrown away because the label beside it does not say so."""
    table = debate(
        build_seat("ada"),
        build_seat("bob"),
        settings=CouncilSettings(debate="always", rebuttal=False),
    )
    table.says("ada", propose("", "We take SQLite.")).pass_until("vote")
    given = {"type": "vote", "position": "support", "condition": "There is a backup."}
    reading = read_answer(table.brief("bob"), given, is_strict=is_strict)
    assert isinstance(reading.said, Contribution)
    assert (reading.said.position, reading.said.condition) == (
        "conditional_support",
        "There is a backup.",
    )
    assert reading.mends == ("read position 'support, condition' → 'conditional_support'",)


@pytest.mark.parametrize(
    ("given", "counted", "notes"),
    [
        ({"position": "oppose"}, "support", ("read position 'oppose' → choice 'Postgres'",)),
        ({"position": "abstain"}, "support", ("read position 'abstain' → choice 'Postgres'",)),
        ({"position": "support"}, "support", ()),
        ({"condition": "It has a backup.", "position": "support"}, "conditional_support", ()),
    ],
)
def test_a_position_that_gives_way_to_the_choice_beside_it_is_noted(
    given: dict[str, str], counted: str, notes: tuple[str, ...]
) -> None:
    """D-24, M-2: what was changed is noted."""
    reading = read_answer(bring_to_vote("Postgres").brief("ada"), {"choice": "Postgres", **given})
    assert isinstance(reading.said, Contribution)
    assert (
        reading.said.position,
        tuple(each for each in reading.mends if "support," not in each),
    ) == (counted, notes)


def test_one_reading_has_one_note() -> None:
    """M-2: a word in the place of a ballot is the choice, and that is all that is to be said of it."""
    reading = read_answer(bring_to_vote("Postgres", "SQLite").brief("ada"), {"ballot": "abstain"})
    assert reading.mends == ("words choice 'abstain' → 'abstain'",)


@pytest.mark.parametrize(
    ("text", "confidence", "words"),
    [
        ("SQLite, 90% sure", 0.9, "SQLite"),
        ("I choose SQLite (confidence: 0.7)", 0.7, "I choose SQLite"),
        ("SQLite，我有70%的把握", 0.7, "SQLite"),
        (
            "SQLite, because one file is enough, 60% sure.",
            0.6,
            "SQLite, because one file is enough",
        ),
        ("SQLite", None, "SQLite"),
    ],
)
def test_a_sureness_at_the_end_of_words_is_their_confidence_whoever_writes_them(
    text: str, confidence: float | None, words: str
) -> None:
    """M-2: models are read by the words of people."""
    options = debate(build_seat("ada"), build_seat("bob"), subject=Topic(options=OPTIONS))
    proposal, vote = (
        read_answer(table.brief("ada"), text).said for table in (options, bring_to_vote("Postgres"))
    )
    assert isinstance(proposal, Contribution)
    assert isinstance(vote, Contribution)
    assert (proposal.choice, proposal.text, proposal.confidence) == ("SQLite", words, confidence)
    assert (vote.choice, vote.position, vote.confidence) == ("SQLite", "oppose", confidence)


@pytest.mark.parametrize(
    ("is_sealed", "intro"), [(True, "(Nobody reads this before all have written.)"), (False, "")]
)
def test_a_person_is_told_that_nobody_reads_a_sealed_proposal(is_sealed: bool, intro: str) -> None:
    """D-12: and reads it only where it is so."""
    table = debate(
        build_seat("ada"), build_mailbox_seat("eve"), settings=CouncilSettings(blind=is_sealed)
    )
    assert build_person_ask(table.brief("eve")).intro == intro


def test_who_abstains_from_what_it_does_not_choose_takes_one_side() -> None:
    """D-24, M-13: to oppose what one chooses takes two."""
    table = bring_to_vote("Postgres", "SQLite", mailbox="eve")
    validate = ContributionValidator(table.rules.variant, table.state, SeatId("eve"))
    postgres, sqlite = table.state.candidates
    for position, is_refused in (("abstain", False), ("support", False), ("oppose", True)):
        chosen = CandidateVote(candidate=sqlite, position=cast("VotePosition", position))
        ballot = (CandidateVote(candidate=postgres, position="abstain"), chosen)
        fault = validate(
            Contribution(type="vote", choice="SQLite", ballot=ballot, text="So it is.")
        )
        assert ("which of the two is meant" in (fault or "")) is is_refused, (position, fault)


def vote_for(table: DeliberationRun, **choices: Mapping[str, object]) -> DeliberationRun:
    for name, given in choices.items():
        table.says(name, read_vote(table, name, **given))
    return table


def test_what_all_vote_for_is_decided_whether_or_not_anybody_proposed_it() -> None:
    """Q-9: it ended without a decision, and no word that all had named it."""
    table = bring_to_vote("Postgres", "SQLite")
    vote_for(
        table,
        ada={"choice": "Files"},
        bob={"choice": "Files", "text": "Files need no server at all."},
        eve={"choice": "Files"},
    )
    decision = build_decision(table.timeline)
    assert decision.decision is not None
    assert (decision.choice, decision.decision.text) == ("Files", "Files need no server at all.")
    assert table.closed.support == 1.0


def test_none_of_the_options_is_an_outcome_in_somebodys_words() -> None:
    """Q-9: with listed answers the outcome is one of them, none of these in somebody's words, or nothing."""
    table = bring_to_vote("Postgres", "SQLite")
    own = {"choice": "none of these", "own_choice": "Redis", "text": "Keys alone are needed."}
    said = read_vote(table, "ada", **own)
    assert (said.choice, said.own_choice) == ("Redis", "")
    assert {vote.position for vote in said.ballot} == {"oppose"}
    vote_for(table, ada=own, bob={**own, "own_choice": "redis."}, eve={"choice": "Postgres"})
    decision = build_decision(table.timeline)
    assert decision.decision is not None
    assert (decision.choice, decision.decision.text) == ("Redis", "Keys alone are needed.")
    assert table.ballots == {"ada": "support", "bob": "support", "eve": "oppose"}


def test_an_own_answer_beside_an_option_counts_for_nothing() -> None:
    """Q-9, M-3: the choice is what was asked for."""
    table = bring_to_vote("Postgres", "SQLite")
    said = read_vote(table, "ada", choice="Postgres", own_choice="Redis")
    assert (said.choice, said.own_choice) == ("Postgres", "")


def test_where_no_options_are_named_an_answer_of_ones_own_counts_as_well() -> None:
    """Q-9: who supports a resolution has chosen that, whatever else it names."""
    table = debate(*(build_seat(name) for name in ("ada", "bob", "eve")))
    for name, choice in (("ada", "wait"), ("bob", "go"), ("eve", "go")):
        table.says(name, propose(choice, f"We {choice}."))
    table.pass_until("vote")
    first, other = table.state.candidates[:2]
    none = [{"candidate": number, "position": "oppose"} for number in table.state.candidates]
    some = [{"candidate": first, "position": "support"}, {"candidate": other, "position": "oppose"}]
    vote_for(
        table,
        ada={"ballot": some, "own_choice": "sell"},
        bob={"ballot": none, "own_choice": "sell", "text": "Sell it all."},
        eve={"ballot": none, "own_choice": "Sell."},
    )
    decision = build_decision(table.timeline)
    assert decision.decision is not None
    assert (decision.choice, decision.decision.text) == ("sell", "Sell it all.")
    assert table.ballots == {"ada": "oppose", "bob": "support", "eve": "support"}
