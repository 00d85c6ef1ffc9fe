"""What a conference among options decides: one of them, the same in its minutes and behind its mark, or nothing (M-14, R-9)."""

import pytest
from tests.support.play_roundtable import ConferenceRun, build_seat

from moothall.domain.facts import Language
from moothall.features.roundtable.facts import (
    ConferenceClosed,
    Minutes,
    MinutesReturned,
    MinutesWritten,
    RoundtableSettings,
)
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.sections import extract_minutes_section
from moothall.features.roundtable.timeline import build_decision, build_roundtable_report
from moothall.reports.plain_text import render_markdown

MINUTES = "## Summary\nShort.\n## Consensus reached\n{agreed}\n## Disagreements left open\nNone.\n## Action items\nada: do it.\n{mark}"


def write_minutes(agreed: str, mark: str = "") -> str:
    return MINUTES.format(agreed=agreed, mark=mark)


def hold(
    *texts: str,
    options: tuple[str, ...] = ("yes", "no"),
    platform: str = "",
    language: Language = "en",
) -> ConferenceRun:
    """A conference of one speech that ends with these minutes, one after the other."""
    seats = (build_seat("ada"), build_seat("moderator", platform=platform))
    run = ConferenceRun(
        *seats, options=options, settings=RoundtableSettings(max_rounds=1), language=language
    ).says("Yes.")
    for text in texts:
        run.put(MinutesWritten(ask=run.ask.id, seat=run.ask.seat, said=Minutes.from_text(text)))
    return run


@pytest.mark.parametrize(
    ("options", "agreed", "mark", "choice"),
    [
        (("yes", "no"), "We ship it on Friday.", "[CHOICE] yes", "yes"),
        (("yes", "no"), "We choose no.", "[CHOICE] No.", "no"),
        (("yes", "no"), "We choose yes. No backups are lost.", "[CHOICE] yes", "yes"),
        (("yes", "no"), "No objection stays, and no test fails.", "[CHOICE] **yes**", "yes"),
        (("yes", "no"), "We choose no.", "", "no"),
        (("Redis", "Postgres"), "All agree.", "[CHOICE] option B", "Postgres"),
        (
            ("Redis", "Postgres"),
            "I choose Postgres was said first. We agreed on redis.",
            "[CHOICE] redis",
            "Redis",
        ),
        (("Redis", "Postgres"), "We agreed on Redis.", "", "Redis"),
        ((), "We do it.", "[CHOICE] maybe", "maybe"),
    ],
)
def test_the_choice_of_minutes_is_one_of_the_options(
    options: tuple[str, ...], agreed: str, mark: str, choice: str
) -> None:
    """M-2: read leniently, as other choices."""
    run = hold(write_minutes(agreed, mark), options=options)
    decision = build_decision(run.timeline)
    assert (decision.choice, run.state.status, decision.decision is not None) == (
        choice,
        "closed",
        True,
    )


FAULTY = [
    ("We do it.", "[CHOICE] maybe"),
    ("We choose no.", "[CHOICE] yes"),
    ("No.", "[CHOICE] yes"),
    ("Backups come first. We choose no.", "[CHOICE] yes"),
    ("The answer is no.", "[CHOICE] yes"),
    ("我们一致选择no。", "[选择] yes"),
    ("We do it.", ""),
]


@pytest.mark.parametrize(("agreed", "mark"), FAULTY)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_minutes_that_do_not_choose_one_option_are_asked_about_once_and_then_decide_nothing(
    agreed: str, mark: str, language: Language
) -> None:
    """M-14: what was chosen is not guessed."""
    text = write_minutes(agreed, mark)
    run = hold(text, language=language)
    assert (run.asked, run.entries[-1].fact) == (
        ("minutes", "moderator"),
        MinutesReturned(seat=run.ask.seat, missing=("choice",)),
    )
    run.put(MinutesWritten(ask=run.ask.id, seat=run.ask.seat, said=Minutes.from_text(text)))
    decision, shown = (
        build_decision(run.timeline),
        render_markdown(build_roundtable_report(run.timeline)),
    )
    assert (decision.decision, decision.choice, decision.backing) == (None, "", None)
    assert run.entries[-1].fact == ConferenceClosed(
        reason="rounds", author=run.state.author, missing=("choice",)
    )
    assert "yes | no" in shown.replace("\\|", "|")
    assert agreed in shown


def test_the_next_minutes_are_told_what_was_expected_and_count() -> None:
    """R-9"""
    run = hold(write_minutes("We do it.", "[CHOICE] maybe"))
    own = RULES.brief(run.state, run.ask).own
    assert "a line `[CHOICE] …` with one of the options" in own
    assert "one of: yes | no" in own
    run.put(
        MinutesWritten(
            ask=run.ask.id,
            seat=run.ask.seat,
            said=Minutes.from_text(write_minutes("We do it.", "[CHOICE] yes")),
        )
    )
    assert build_decision(run.timeline).choice == "yes"


@pytest.mark.parametrize(("agreed", "mark"), FAULTY)
def test_the_minutes_of_an_agent_from_outside_stay_as_they_are(agreed: str, mark: str) -> None:
    """R-11: nothing is lost, and nothing is decided that was not."""
    run = hold(write_minutes(agreed, mark), platform="mailbox")
    decision = build_decision(run.timeline)
    assert (run.state.status, decision.decision, decision.choice) == ("closed", None, "")
    assert run.state.minutes == Minutes.from_text(write_minutes(agreed, mark))


def test_minutes_by_which_nothing_was_agreed_need_no_choice() -> None:
    run = hold(write_minutes("None."))
    assert (run.state.status, build_decision(run.timeline).decision) == ("closed", None)


@pytest.mark.parametrize(
    ("written", "agreed"),
    [
        (
            "Summary: a\nConsensus: We choose no.\nStill.\nDisagreements: none",
            "We choose no.\nStill.",
        ),
        ("**Consensus:** We choose no.\n**Disagreements:** b", "We choose no."),
        ("共识：我们选 no。\n分歧：无", "我们选 no。"),
        ("## Consensus\nAgreed: no.\n## Disagreements\nConsensus: yes", "Agreed: no."),
        ("Ada and Bob agreed: no.", ""),
    ],
)
def test_a_section_may_stand_behind_its_heading(written: str, agreed: str) -> None:
    """R-9: read only where no section stands below a heading."""
    assert extract_minutes_section(written, "consensus") == agreed
