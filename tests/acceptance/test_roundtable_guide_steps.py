"""GUIDE.md as an agent uses it (R-15): a program does the steps that stand there, in both languages, and a wrong step fails."""

from pathlib import Path

import pytest
from tests.acceptance.tables import Desk
from tests.support.guide_agent import Guide, GuideAgent, GuideFault

from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.features.roundtable.project import read_guide
from moothall.features.roundtable.sections import find_missing_sections
from moothall.features.roundtable.words import ROUNDTABLE_PROMPT

LANGUAGES = ("en", "zh")
INTRUDER = "## Stance\nI was first.\n## Analysis\nYes.\n## Response and questions\nNo?\n"
INPUT = "The budget is halved."
ROLES = ("ada", "bob", "cyd")


def hold_conference(tmp_path: Path, language: Language, text: str, *, agrees: bool = False) -> None:
    """Hold a conference by this guide alone, with an input of the user's and a second agent for one role; check all of it."""
    guide, words = Guide(text), ROUNDTABLE_PROMPT[language]
    with Desk(tmp_path) as desk:
        roles = [Seat(id=SeatId(role), platform="mailbox") for role in ROLES]
        topic = "Which cache?" if language == "en" else "用哪种缓存？"
        desk.run(
            desk.hall.create_conference(
                "cache", topic, roles=roles, max_rounds=2, language=language
            )
        )

        def disturb(path: Path) -> None:
            path.write_text(INTRUDER, encoding="utf-8")

        for number in range(1, 20):
            found = desk.status()
            assert found.damage == ()
            if found.turn.status != "open":
                break
            role = found.turn.current_speaker
            waiting = GuideAgent(guide, desk.folder, next(each for each in ROLES if each != role))
            assert waiting.take_part() == words.blocked.format(current_speaker=role)
            agent = GuideAgent(
                guide,
                desk.folder,
                role,
                agrees=agrees,
                before_naming=disturb if number == 2 else None,
            )
            if number == 2:
                desk.run(desk.hall.give_input("cache", INPUT))
                assert agent.take_part().startswith("damaged: 2 speeches")
                assert (desk.folder / f"002_{role}.md").read_text(encoding="utf-8") == INTRUDER
                assert (desk.folder / f"draft_{role}.md").exists()
                # Whoever was first has spoken; the other one's words are still its own, in its draft.
                (desk.folder / f"002_{role}.md").rename(desk.folder / f".kept_{role}")
                agent.read.clear()
            said = agent.take_part()
            assert said == "done: step 3", said
            is_as_moot_says(desk)
            has_read = any(INPUT in each for each in agent.read)
            assert has_read == (1 < number <= 1 + len(ROLES))
            assert any(topic in each for each in agent.read)
        assert desk.turn()["status"] == "concluding"
        assert len(desk.speeches()) == (len(ROLES) if agrees else 2 * len(ROLES))
        assert GuideAgent(guide, desk.folder, "ada").take_part() == words.concluding
        assert GuideAgent(guide, desk.folder, "moderator").take_part() == "done: step 4"
        is_as_moot_says(desk)
        closed = desk.status()
        assert (
            closed.conference.status,
            closed.conference.missing,
            closed.conference.returned,
        ) == ("closed", (), None)
        assert closed.conference.ended_by == ("consensus" if agrees else "rounds")
        assert all(
            find_missing_sections(speech.said.content) == ()
            for speech in closed.conference.speeches
        )
        assert GuideAgent(guide, desk.folder, "bob").take_part() == words.over
        assert list(desk.folder.glob("draft_*")) == []
        desk.is_sound()


def is_as_moot_says(desk: Desk) -> None:
    """The turn.json that the agent wrote is the one that Moot would have written, but for the prompt."""
    written = desk.turn()
    assert desk.status().writing == ""
    assert {**written, "prompt_for_speaker": ""} == {**desk.turn(), "prompt_for_speaker": ""}


@pytest.mark.parametrize("agrees", [False, True], ids=["to the last round", "to consensus"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_steps_of_the_guide_hold_a_conference(
    tmp_path: Path, language: Language, agrees: bool
) -> None:
    """R-13, R-14, R-15: whoever does what is written, and nothing else, brings a conference to its minutes."""
    hold_conference(tmp_path, language, read_guide(language), agrees=agrees)


BOTH: dict[str, tuple[str, str]] = {
    "the index grows by two": (
        "current_speaker_index = current_speaker_index + 1",
        "current_speaker_index = current_speaker_index + 2",
    ),
    "the order begins at its second place": (
        "    current_speaker_index = 0\n",
        "    current_speaker_index = 1\n",
    ),
    "the round stays": ("round = round + 1", "round = round + 0"),
    "a round too few": ("if round > max_rounds", "if round >= max_rounds"),
    "a round too many": ("if round > max_rounds", "if round > max_rounds + 1"),
    "the talk is closed at once": ('status = "concluding"', 'status = "closed"'),
    "nobody is the moderator": ('current_speaker = "moderator"', 'current_speaker = "nobody"'),
    "the next speaker is left out": (
        "   current_speaker = speaker_order[current_speaker_index]\n",
        "",
    ),
    "a number too high": ("`highest + 1`", "`highest + 2`"),
    "four digits": ("`highest + 1`", "`highest + 1` `4`"),
    "a wrong count": ("`(round - 1) * len", "`round * len"),
    "no agenda": ("1. `AGENDA.md`", "1. `AGENDAS.md`"),
    "a name that is replaced": ("ln draft_{", "cp draft_{"),
    "a move instead of a link": ("ln draft_{", "mv draft_{"),
    "a turn that is not put in place": (".json turn.json", ".json turns.json"),
    "minutes under another name": (
        "ln draft_moderator.md MINUTES.md",
        "ln draft_moderator.md MINUTE.md",
    ),
    "a draft that is not there": ("ln draft_moderator.md", "ln draft.md"),
    "an end that is none": ('   status = "closed"', '   status = "open"'),
    "inputs of another name": ("3. `INPUT_{", "3. `INPUTS_{"),
    "the wrong status": ("- `status` ", "- `round` "),
    "a draft that stays": ("   rm draft_moderator.md\n", ""),
}
EACH: dict[Language, dict[str, tuple[str, str]]] = {
    "en": {
        "no stance": ("   ## Stance\n", ""),
        "no action items": ("   ## Action items\n", ""),
        "another answer": ("[Conference blocked] It is", "[Blocked] It is"),
        "another end": ("The conference is over; please", "It is over; please"),
        "another mark": ("[CONSENSUS]", "[AGREED]"),
        "a step that is missing": ("## Step 2:", "## Part 2:"),
        "an item that nobody can do": ("   ```python\n   status", "   ```basic\n   status"),
    },
    "zh": {
        "no stance": ("   ## 立场\n", ""),
        "no action items": ("   ## 决议行动项\n", ""),
        "another answer": ("[会议阻塞] 当前", "[阻塞] 当前"),
        "another end": ("会议已结束，请", "已结束，请"),
        "another mark": ("[共识]", "[同意]"),
        "a step that is missing": ("## 第二步", "## 其二"),
        "an item that nobody can do": ("   ```python\n   status", "   ```basic\n   status"),
    },
}
WRONG = [(language, name) for language in LANGUAGES for name in (*BOTH, *EACH[language])]


@pytest.mark.parametrize(("language", "name"), WRONG)
def test_a_wrong_step_in_the_guide_fails(tmp_path: Path, language: Language, name: str) -> None:
    """R-15: each step counts. A guide in which one of them is wrong does not hold the same conference."""
    right, wrong = (BOTH | EACH[language])[name]
    guide = read_guide(language)
    assert right in guide
    with pytest.raises((AssertionError, GuideFault, OSError, KeyError, IndexError, ValueError)):
        hold_conference(
            tmp_path, language, guide.replace(right, wrong), agrees=name == "another mark"
        )
