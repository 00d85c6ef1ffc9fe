"""Whole sessions of every protocol with consultations in them, drawn: what holds whatever the seats answer (C-2, C-3, C-4)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.unit import test_council_properties as council
from tests.unit import test_persona_properties as persona
from tests.unit import test_roundtable_rules as roundtable
from tests.unit import test_swarm_properties as swarm

from moothall.domain.budget import Budget
from moothall.domain.consult import ConsultRequest, ConsultRules
from moothall.domain.effects import Rulebook
from moothall.domain.facts import Opened
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.features.persona.plugin import PERSONA
from moothall.features.pipeline.facts import (
    Artefact,
    GateVerdict,
    PipelineOpened,
    PipelineSettings,
    Step,
)
from moothall.features.pipeline.plugin import PIPELINE
from moothall.features.roundtable.plugin import ROUNDTABLE
from moothall.protocols.consultation.facts import (
    Advice,
    ConsultationAnswered,
    ConsultationBegun,
    ConsultationFailed,
    ConsultationFiled,
    ConsultationRefused,
    QuestionOpened,
    RecordLocation,
)
from moothall.protocols.consultation.plugin import CONSULTATION
from moothall.protocols.consultation.rules import ConsultingRulebook
from moothall.protocols.consultation.state import to_inner_entry
from moothall.protocols.council.plugin import ADVISORY, CONSENSUS, DEBATE
from moothall.protocols.swarm.plugin import SWARM
from moothall_testkit.rulebook_contract import (
    PlayedSession,
    RulebookContract,
    build_fact_source,
    check_session,
)

LASTING = settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
REQUESTS = st.builds(
    ConsultRequest,
    to=st.sampled_from(("ada", "bob", "s0", "s1", "S1", "cy", "moderator", "甲", "乙", "nobody")),
    question=st.sampled_from(
        ("Why?", "What is the cost?", "| x\n# Now", "成本是多少？", "word " * 900)
    ),
    background=st.sampled_from(("", "I am not sure.")),
    kind=st.sampled_from(("knowledge", "confirmation", "feedback")),
)
ADVICE = st.builds(
    Advice,
    answer=st.sampled_from(("Because.", "I don't know.", "# x\n| y", "不知道")),
    ask_instead=st.sampled_from(("", "bob", "nobody")),
    known=st.sampled_from(("known", "unknown")),
)
RULES = st.builds(
    ConsultRules,
    folder=st.just("/nowhere"),
    token=st.just("t"),
    per_seat=st.sampled_from((3, 1, 0, 100)),
    per_session=st.sampled_from((24, 2, 0)),
    gate=st.sampled_from((False, False, False, True)),
)


def consulting(said: dict[str, st.SearchStrategy[object]]) -> dict[str, st.SearchStrategy[object]]:
    """Mostly answers, and now and then a request in place of one."""
    mixed = {kind: st.one_of(each, each, REQUESTS) for kind, each in said.items()}
    filed = st.builds(
        RecordLocation, number=st.integers(1, 99), path=st.just("docs/consultation/1_a_b.md")
    )
    return {**mixed, "consult": st.one_of(ADVICE, ADVICE, REQUESTS), "record": filed}


def contract(
    inner: Rulebook[Any], openings: st.SearchStrategy[Opened], said: dict[str, Any]
) -> RulebookContract[Any]:
    is_wrapped = isinstance(inner, ConsultingRulebook)
    rules = inner if is_wrapped else ConsultingRulebook(inner, frozenset({"validate", "review"}))
    opened = st.builds(lambda opening, consult: replace(opening, consult=consult), openings, RULES)
    return RulebookContract(
        rules=rules, openings=opened, happens=build_fact_source(rules, consulting(said))
    )


QUESTIONS = st.builds(
    lambda request: QuestionOpened(
        topic=request.question,
        language="en",
        seed=1,
        seats=tuple(Seat(id=SeatId(name), platform="script:x") for name in ("ada", "bob")),
        budget=Budget(),
        asker=SeatId("ada"),
        request=request,
    ),
    REQUESTS,
)
STEPS = (
    Step(name="model", agent="ada", task="Model it."),
    Step(
        name="check", agent="bob", task="Check it.", gate=True, on_reject="back", max_rejections=1
    ),
    Step(name="write", agent="cy", task="Write it.", uses=("model",)),
    Step(
        name="review",
        agent="bob",
        task="Check it.",
        gate=True,
        on_reject="consult",
        back_to="write",
        max_rejections=1,
    ),
)
VERDICTS = st.builds(
    GateVerdict,
    verdict=st.sampled_from(("APPROVED", "APPROVED", "REJECTED")),
    content=st.just("It is thin."),
)
PIPELINES = st.builds(
    lambda count: PipelineOpened(
        topic="Forecast it.",
        language="zh",
        seed=1,
        seats=tuple(Seat(id=SeatId(name), platform="script:x") for name in ("ada", "bob", "cy")),
        settings=PipelineSettings(steps=STEPS[:count]),
    ),
    st.integers(1, len(STEPS)),
)
CONTRACTS = {
    "persona": contract(PERSONA.rules, persona.openings(), persona.SAID),
    "roundtable": contract(ROUNDTABLE.rules, roundtable.OPENINGS, roundtable.SAID),
    "debate": contract(DEBATE.rules, council.openings(DEBATE), council.SAID),
    "advisory": contract(ADVISORY.rules, council.openings(ADVISORY), council.SAID),
    "consensus": contract(CONSENSUS.rules, council.openings(CONSENSUS), council.SAID),
    "swarm": contract(SWARM.rules, swarm.openings(), swarm.SAID),
    "pipeline": contract(
        PIPELINE.rules,
        PIPELINES,
        {
            "work": st.builds(
                Artefact, content=st.sampled_from(("y = x", "# x\n| y", "word " * 900))
            ),
            "validate": VERDICTS,
            "review": VERDICTS,
        },
    ),
    "consultation": contract(CONSULTATION.rules, QUESTIONS, {}),
}


@pytest.mark.parametrize("name", CONTRACTS)
@LASTING
@given(data=st.data())
def test_whatever_is_asked_of_whom_the_session_keeps_its_promises(
    name: str, data: st.DataObject
) -> None:
    """C-2, C-3, C-6: every session ends, one consultation at a time, within its limits, each with its record or its failure."""
    played = check_session(CONTRACTS[name], data)
    check_consultations(played)
    check_inner(CONTRACTS[name].rules, played)


def check_consultations(played: PlayedSession) -> None:
    under_way: int | None = None
    begun: list[int] = []
    by_seat: dict[str, int] = {}
    rules = played.opened.consult
    assert rules is not None
    for entry in played.entries:
        match entry.fact:
            case ConsultationBegun(consultation=number, seat=seat, to=to, request=request):
                assert under_way is None, "C-3: two at once"
                assert seat != to
                under_way, begun = number, [*begun, number]
                if request is None:
                    by_seat[seat] = by_seat.get(seat, 0) + 1
            case ConsultationAnswered():
                assert under_way is not None
            case ConsultationFiled() | ConsultationFailed(reason="unrecorded"):
                assert under_way is not None
                under_way = None
            case ConsultationRefused(reason="nested"):
                assert under_way is not None, "C-4"
            case _:
                pass
    assert begun == list(range(1, len(begun) + 1))
    assert max(by_seat.values(), default=0) <= rules.per_seat
    assert sum(by_seat.values()) <= rules.per_session
    if rules.gate:
        assert by_seat == {}, "C-5"


def check_inner(rules: Rulebook[Any], played: PlayedSession) -> None:
    """The protocol within sees an ordinary session: the same state as if nobody had ever consulted."""
    assert isinstance(rules, ConsultingRulebook)
    if isinstance(played.opened, QuestionOpened):
        return
    state = rules.inner.initial(played.opened)
    for entry in played.entries[1:]:
        seen = to_inner_entry(entry)
        state = state if seen is None else rules.inner.evolve(state, seen)
    assert state == played.snapshot.state.inner
