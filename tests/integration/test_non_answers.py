"""Five seats that do not answer, or all oppose, hold a session of every protocol: nothing is carried (M-13, M-14)."""

import asyncio

import pytest

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Language, Reply, SeatLost
from moothall.participants.function import AnswerFunction
from moothall.reading.schemas import build_user_prompt
from moothall.reports.decision import Decision

PROTOCOLS = ("persona", "roundtable", "debate", "advisory", "consensus", "swarm")
SETTINGS: dict[str, dict[str, object]] = {
    "swarm": {"max_rounds": 3},
    "roundtable": {"max_rounds": 2},
}
TOPICS: dict[Language, str] = {
    "en": "Shall we rewrite the storage in Rust?",
    "zh": "我们要不要用 Rust 重写存储层？",
}
SORRY: dict[Language, str] = {
    "en": "I'm sorry, but I can't assist with that request.",
    "zh": "抱歉，我无法协助完成该请求。",
}


def refuse(brief: Brief) -> object:
    return SORRY[brief.language]


def refuse_in_fields(brief: Brief) -> object:
    sorry = SORRY[brief.language]
    stand = {
        "position": "support",
        "verdict": "support",
        "choice": "yes",
        "confidence": 1.0,
        "reaction_score": 0.9,
    }
    return {
        **stand,
        "intent_to_speak": True,
        **dict.fromkeys(("text", "decision", "content", "reason", "coreIdea"), sorry),
    }


async def hold(
    protocol: str, language: Language, answer: AnswerFunction
) -> tuple[Decision, list[SeatLost], list[Reply], str]:
    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        decision = await moot.hold(
            TOPICS[language],
            protocol=protocol,
            seats={f"mind{number}": answer for number in range(5)},
            seed=1,
            language=language,
            settings=SETTINGS.get(protocol, {}),
            turns=5 if protocol == "persona" else None,
        )
        facts = [entry.fact for entry in await moot.engine.entries(decision.session)]
        report = await moot.export(decision.session, "html")
    lost = [fact for fact in facts if isinstance(fact, SeatLost)]
    return decision, lost, [fact for fact in facts if isinstance(fact, Reply)], report


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("language", TOPICS)
@pytest.mark.parametrize("answer", [refuse, refuse_in_fields])
def test_apologies_decide_nothing(
    protocol: str, language: Language, answer: AnswerFunction
) -> None:
    """M-14: no apology is a position, a motion, a speech, minutes or a decision; how many declined is said."""
    decision, lost, replies, report = asyncio.run(hold(protocol, language, answer))
    assert decision.decision is None
    assert {fact.reason for fact in lost} == {"refused"}
    assert not any(SORRY[language] in str(getattr(reply, "said", "")) for reply in replies)
    count = len(decision.lost)
    assert count >= 5
    assert (
        f"{count} of {count} declined to answer"
        if language == "en"
        else f"{count} 席中有 {count} 席拒绝回答"
    ) in report
    assert f"moot fork {decision.session} --swap" in report


def test_a_seat_that_answered_when_it_was_asked_again_did_not_decline() -> None:
    """M-14: its loss stays in the record, and nobody is advised to seat another."""
    asked = set[str]()

    def answer(brief: Brief) -> object:
        is_shy = (
            brief.ask.kind == "speech"
            and brief.seat.id == "mind1"
            and len(asked) < 1 + (brief.ask.id in asked)
        )
        asked.update({brief.ask.id} if is_shy else ())
        return (
            SORRY["en"]
            if is_shy
            else f"[CHOICE] Rust\nThe storage is slow, says {brief.seat.id}, and that is measured."
        )

    _, lost, replies, report = asyncio.run(hold("roundtable", "en", answer))
    assert [fact.seat for fact in lost] == ["mind1"]
    assert any(reply.seat == "mind1" for reply in replies)
    assert "declined to answer" not in report


def echo_prompt(brief: Brief) -> object:
    return build_user_prompt(brief)


def echo_last_line(brief: Brief) -> object:
    return build_user_prompt(brief).splitlines()[-1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("language", TOPICS)
@pytest.mark.parametrize("answer", [echo_prompt, echo_last_line])
def test_echoes_decide_nothing(protocol: str, language: Language, answer: AnswerFunction) -> None:
    """M-13: what repeats the prompt or its form is lost, with that fault."""
    decision, lost, replies, _ = asyncio.run(hold(protocol, language, answer))
    assert decision.decision is None
    assert {fact.reason for fact in lost} <= {"malformed"}
    assert lost or not any(
        getattr(getattr(reply, "said", None), "findings", ()) for reply in replies
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_seats_that_oppose_in_words_carry_nothing(protocol: str) -> None:
    """M-14: "OK, I oppose this." is a vote against wherever it counts."""
    decision, *_ = asyncio.run(hold(protocol, "en", lambda brief: "OK, I oppose this."))
    assert decision.decision is None or decision.strength in {"overruled", "none"}
