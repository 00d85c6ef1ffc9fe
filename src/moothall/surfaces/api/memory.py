"""The calls on what outlives a session: decisions and their outcomes, trust, amplification, threads."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, Field

from moothall.app.session_list import SessionLine
from moothall.domain.roster import StandIn
from moothall.memory import remembered_decision
from moothall.memory.facts import (
    Member,
    Number,
    ObligationState,
    Outcome,
    RequiredLine,
    ThreadStatus,
)
from moothall.memory.search import SearchHit
from moothall.memory.threads import ThreadView
from moothall.memory.track_records import (
    Amplification,
    Lineage,
    SourceTrust,
    compute_score,
    compute_standing,
)
from moothall.scoring.estimates import (
    ForecastScores,
    NumberScores,
    score_forecasts,
    score_numbers,
)
from moothall.scoring.reliability import (
    ReliabilityBin,
    ReliabilityGroup,
    ReliabilityTable,
    TrackShare,
)
from moothall.surfaces.api.fields import (
    DecisionRef,
    IdempotencyKey,
    Limit,
    Note,
    Short,
    SourceRef,
    build_ref,
)
from moothall.surfaces.api.method import ApiModel, Call, Operations

METHODS = Operations()


class DecisionOut(ApiModel):
    decision_id: str
    protocol: str
    topic: str
    category: str
    stakes: str
    tags: list[str]
    thread: str
    decision: str | None = None
    choice: str
    strength: str = Field(
        description="What it is worth in one word; empty in records older than this field."
    )
    badge: str = Field(
        default="", description="How it came about, in a word or two: `3 of 4`; as in its memo."
    )
    what: str = Field(default="", description="What was decided, in one sentence of its memo.")
    reservation: str = Field(
        default="", description="The short form of the first reservation of its memo."
    )
    confidence: float | None = None
    track_record: TrackShare | None = Field(
        default=None,
        description="How often decisions of this protocol and kind of agreement were right, from ten reviews on.",
    )
    consensus_type: str
    agreement: str = Field(
        default="", description="Nobody is against it: so before reading (blind), or after_reading."
    )
    members: list[Member]
    dissent: list[str]
    open_questions: list[str]
    built_on: list[str]
    opened_at: datetime
    closed_at: datetime
    stand_in: StandIn = Field(
        default="", description="What spoke in place of minds: an answer file is a script."
    )
    outcome: Outcome | None = None
    reviews: list[remembered_decision.OutcomeReview]
    options: list[str] = []
    obligations: list[remembered_decision.RememberedObligation] = Field(
        default=[], description="The conditions it was carried with, and their state."
    )
    note: str = Field(
        default="", description="What is still open: obligations that nobody reported on."
    )


class ObligationsOut(ApiModel):
    obligations: list[remembered_decision.RememberedObligation]


SearchWithin = Literal["all", "decisions", "threads", "trust", "deliberations"]


class DecisionHitOut(ApiModel):
    decision_id: str
    score: float
    snippet: str = Field(description="Where its words stand; empty where only the meaning fits.")
    marks: list[tuple[int, int]] = Field(
        default=[],
        description="Where in the snippet the words of the query stand: first character, and the one behind the last.",
    )
    topic: str
    decision: str | None = None
    choice: str = ""
    strength: str = ""
    badge: str = ""
    what: str = ""
    reservation: str = ""
    stand_in: StandIn = ""
    outcome: Outcome | None = None


class ThreadHitOut(ApiModel):
    thread: str
    title: str
    status: ThreadStatus
    decisions: int
    open_questions: list[str]


class SearchOut(ApiModel):
    decisions: list[DecisionHitOut]
    threads: list[ThreadHitOut] = []
    sources: list[SourceTrust] = Field(
        default=[], description="The trust in participants and models of that name or category."
    )
    deliberations: list[SessionLine] = Field(default=[], description="Sessions that go on.")


class DecisionsOut(ApiModel):
    decisions: list[DecisionOut]


class SourcesOut(ApiModel):
    sources: list[SourceTrust]


class AmplificationsOut(ApiModel):
    protocols: list[Amplification]


class ReliabilityOut(ApiModel):
    groups: list[ReliabilityGroup] = Field(
        description="By protocol, kind of agreement and model family: reviewed decisions, how many were right, what was said."
    )
    bins: list[ReliabilityBin] = Field(description="All of them, by how sure they were said to be.")
    forecasts: ForecastScores | None = Field(
        default=None, description="Reviewed forecasts of any protocol, by their own scores."
    )
    numbers: NumberScores | None = Field(
        default=None, description="Reviewed estimates of numbers of any protocol, by their errors."
    )


class ThreadsOut(ApiModel):
    threads: list[ThreadView]


ThreadRef = Annotated[
    Short, Field(validation_alias=AliasChoices("thread", "threadId"), serialization_alias="thread")
]


_SETTLE: Final = "Report it with settle_obligation."


def build_decision_out(
    remembered: remembered_decision.RememberedDecision, table: ReliabilityTable
) -> DecisionOut:
    kind, has_figure = remembered.kind, remembered.record.confidence is not None
    obligations = remembered_decision.list_obligations(remembered)
    notes = [remembered_decision.describe_obligations(remembered)]
    if any(each.state == "open" for each in obligations):
        notes.append(_SETTLE)
    track_record = None
    if has_figure:
        track_record = table.count_alike(kind.protocol, kind.agreement)
    return DecisionOut.collect(
        remembered.record,
        remembered,
        decision_id=remembered.decision,
        decision=remembered.record.text,
        track_record=track_record,
        obligations=obligations,
        note=" ".join(filter(None, notes)),
    )


@METHODS.add("cstp.reviewDecision", "own", tool="review_decision", unbound=True)
async def review_decision(
    call: Call,
    decision_id: DecisionRef,
    *,
    outcome: Outcome,
    choice: Annotated[
        Note,
        Field(
            description="The choice that proved right, if known; of a forecast yes or no, of an estimate the number."
        ),
    ] = "",
    note: Note = "",
    idempotency_key: IdempotencyKey = "",
) -> DecisionOut:
    """Report how a decision turned out: success, partial, failure or abandoned. Trust, amplification and circuit breakers
    follow. The answer lists the obligations still open.
    """
    memory = await call.moot.recall()
    reviewed = await memory.review(
        decision_id, outcome, choice=choice, note=note, by=call.caller.name, key=idempotency_key
    )
    return build_decision_out(reviewed, await memory.reliability())


@METHODS.add("cstp.searchDecisions", "read", tool="search_decisions")
async def search_decisions(
    call: Call,
    query: Annotated[str, Field(min_length=1, max_length=1_000)],
    within: SearchWithin = "all",
    category: Short | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
) -> SearchOut:
    """Search past decisions with their outcomes, threads, trust in sources and open deliberations, by words and by meaning (also
    Chinese). Do this before you decide or open a new one.
    """
    if call.caller.role == "observer":
        # Who decides may look into memory (D-16); who only watches one session sees that one.
        call.caller.check_unbound("a search in all decisions")
    memory = await call.moot.recall()

    def is_wanted(kind: SearchWithin) -> bool:
        return within in {"all", kind}

    hits = (
        await memory.search(query, limit=limit, category=category) if is_wanted("decisions") else []
    )
    threads = await call.moot.remembering.search_threads(query) if is_wanted("threads") else []
    sources = await memory.search_sources(query) if is_wanted("trust") else []
    # A token for one session does not show that others go on.
    lines = (
        await call.moot.session_list.search(query)
        if is_wanted("deliberations") and not call.caller.session
        else []
    )
    return SearchOut(
        decisions=await find_decisions(call, hits),
        threads=[
            ThreadHitOut.collect(
                each,
                decisions=sum(session.is_decided for session in each.decisions),
                open_questions=[question.text for question in each.open_questions],
            )
            for each in threads[:limit]
        ],
        sources=sources[:limit],
        deliberations=[line for line in lines if line.status in {"thinking", "parked"}][:limit],
    )


async def find_decisions(call: Call, hits: Iterable[SearchHit]) -> list[DecisionHitOut]:
    rows = []
    for hit in hits:
        each = await call.moot.memory.get(hit.decision)
        if each is None:
            continue
        row = DecisionHitOut.collect(
            each.record,
            each,
            hit,
            decision_id=hit.decision,
            score=round(hit.score, 3),
            decision=each.record.text,
        )
        rows.append(row)
    return rows


@METHODS.add("cstp.listDecisions", "read", unbound=True)
async def list_decisions(
    call: Call,
    *,
    category: Short | None = None,
    protocol: Short | None = None,
    outcome: Outcome | Literal["unreviewed"] | None = None,
    source: Annotated[str | None, Field(max_length=500)] = None,
    before: Annotated[Short | None, Field(description="Continue after this decision.")] = None,
    limit: Limit = 50,
) -> DecisionsOut:
    """List past decisions, the newest first. Meetings that ended without one are in the list of sessions."""
    memory = await call.moot.recall()
    decisions = await memory.list_decisions(
        category=category,
        protocol=protocol,
        outcome=outcome,
        source=source,
        before=before,
        limit=limit,
    )
    table = await memory.reliability()
    return DecisionsOut(decisions=[build_decision_out(each, table) for each in decisions])


@METHODS.add("cstp.listObligations", "read", tool="list_obligations")
async def list_obligations(
    call: Call,
    decision_id: Annotated[
        str | None,
        build_ref("decisionId", "deliberationId", max_length=100, description="Only its."),
    ] = None,
    only_open: Annotated[
        bool, Field(validation_alias=AliasChoices("onlyOpen", "only_open", "open"))
    ] = False,
    limit: Limit = 200,
) -> ObligationsOut:
    """The conditions that decisions were carried with: who set each, what must hold, by when, and whether it is open."""
    if decision_id is None:
        call.caller.check_unbound("listing the obligations of all decisions")
    memory = await call.moot.recall()
    return ObligationsOut(
        obligations=list(
            await memory.list_obligations(decision=decision_id, only_open=only_open, limit=limit)
        )
    )


@METHODS.add("cstp.settleObligation", "run", tool="settle_obligation")
async def settle_obligation(
    call: Call,
    decision_id: DecisionRef,
    *,
    number: Annotated[Number, Field(description="Its number within the decision.")],
    state: Annotated[
        ObligationState, Field(description="met, waived or failed; open takes it back.")
    ],
    note: Note = "",
    idempotency_key: IdempotencyKey = "",
) -> remembered_decision.RememberedObligation:
    """Report what became of a decision's condition: met, waived or failed."""
    memory = await call.moot.recall()
    return await memory.settle_obligation(
        decision_id, number, state, note=note, by=call.caller.name, key=idempotency_key
    )


@METHODS.add("cstp.getSourceTrust", "read", tool="get_source_trust", unbound=True, seats=True)
async def get_source_trust(call: Call, source: SourceRef, category: Short = "") -> SourceTrust:
    """The trust in a participant or model, computed from its stated confidences and the outcomes; 0.5 without a record. With a
    category, the trust and the accuracy in it.
    """
    memory = await call.moot.recall()
    known = SourceTrust(source=source)
    for record in await memory.sources():
        if record.source == source:
            known = record
    standing = (await memory.compute_standings([source], category))[source]
    return replace(
        known,
        category=category,
        trust=round(standing.trust, 4),
        accuracy=round(standing.accuracy, 4),
    )


@METHODS.add("cstp.listSources", "read", unbound=True, seats=True)
async def list_sources(call: Call) -> SourcesOut:
    """Every participant and model with a track record."""
    return SourcesOut(sources=list(await (await call.moot.recall()).sources()))


@METHODS.add("cstp.getAmplificationStats", "read", unbound=True, seats=True)
async def get_amplification_stats(call: Call) -> AmplificationsOut:
    """Whether groups did better than their members alone, per protocol, with the counts behind each figure."""
    protocols = await (await call.moot.recall()).amplification()
    return AmplificationsOut(
        protocols=[each for each in protocols if each.protocol != remembered_decision.ALONE]
    )


@METHODS.add("cstp.getReliability", "read", unbound=True, seats=True)
async def get_reliability(
    call: Call, protocol: Annotated[Short, Field(description="Of this protocol alone.")] = ""
) -> ReliabilityOut:
    """How often decisions proved right beside how sure they were said to be: a table by protocol, kind of agreement and model
    family, and bins for a plot. Counted from reviews; nothing is refitted.
    """
    memory = await call.moot.recall()
    table = await memory.reliability()
    return ReliabilityOut(
        groups=list(table.list_groups(protocol)),
        bins=list(table.list_bins(protocol)),
        forecasts=score_forecasts(await memory.list_forecast_cases()),
        numbers=score_numbers(await memory.list_number_cases()),
    )


@METHODS.add("cstp.getAmplificationChain", "read", unbound=True)
async def get_amplification_chain(call: Call, decision_id: DecisionRef) -> Lineage:
    """The decisions that a decision builds on, those that build on it, and which of them failed."""
    return await (await call.moot.recall()).find_lineage(decision_id)


@METHODS.add("cstp.createThread", "run", tool="create_thread", unbound=True)
async def create_thread(
    call: Call,
    title: RequiredLine,
    category: Short = "",
    thread: Annotated[
        Short,
        Field(
            description="A name of your choice. Default: thread-N. The same name is the same thread."
        ),
    ] = "",
    idempotency_key: IdempotencyKey = "",
) -> ThreadView:
    """Create a thread: a line of reasoning over several deliberations."""
    return await call.moot.memory.create_thread(
        title, category=category, by=call.caller.name, thread=thread, key=idempotency_key
    )


@METHODS.add("cstp.getThreadStatus", "read", unbound=True, seats=True)
async def get_thread_status(call: Call, thread: ThreadRef) -> ThreadView:
    """The state of a thread: active, paused, completed or blocked."""
    return await (await call.moot.recall()).thread_status(thread)


@METHODS.add("cstp.setThreadStatus", "run", unbound=True)
async def set_thread_status(
    call: Call,
    thread: ThreadRef,
    status: ThreadStatus,
    note: Note = "",
    idempotency_key: IdempotencyKey = "",
) -> ThreadView:
    """Pause, complete, block or reactivate a thread."""
    return await call.moot.memory.set_thread_status(
        thread, status, note=note, by=call.caller.name, key=idempotency_key
    )


@METHODS.add("cstp.askInThread", "run", unbound=True)
async def ask_in_thread(
    call: Call, thread: ThreadRef, question: RequiredLine, idempotency_key: IdempotencyKey = ""
) -> ThreadView:
    """Add an open question to a thread."""
    return await call.moot.memory.ask_in_thread(
        thread, question, by=call.caller.name, key=idempotency_key
    )


@METHODS.add("cstp.settleQuestion", "run", unbound=True)
async def settle_question(
    call: Call, thread: ThreadRef, number: Number, idempotency_key: IdempotencyKey = ""
) -> ThreadView:
    """Mark a thread's question as answered."""
    return await call.moot.memory.settle_question(
        thread, number, by=call.caller.name, key=idempotency_key
    )


@METHODS.add("cstp.listThreads", "read", unbound=True, seats=True)
async def list_threads(call: Call) -> ThreadsOut:
    """All threads, the most recently changed first."""
    return ThreadsOut(threads=list(await (await call.moot.recall()).threads()))


MAX_CASES: Final = 200


class TrustCaseOut(ApiModel):
    decision_id: str
    topic: str
    at: datetime = Field(description="When the outcome was reviewed.")
    category: str = ""
    outcome: str
    position: str | None = None
    confidence: float | None = None
    right: float | None = Field(
        default=None, description="1 where it was on the side that proved right, 0 where not."
    )
    brier: float | None = None
    trust: float = Field(description="The trust after this case.")


class TrustHistoryOut(ApiModel):
    source: str
    cases: list[TrustCaseOut] = Field(description="The oldest first; of many the newest.")


@METHODS.add("moot.getTrustHistory", "read", unbound=True, seats=True)
async def get_trust_history(call: Call, source: SourceRef) -> TrustHistoryOut:
    """The reviewed decisions behind the trust in a participant or model, and the trust after each."""
    decisions = await (await call.moot.recall()).list_decisions(source=source, limit=1_000)
    reviewed = []
    for each in decisions:
        score = compute_score(source, each)
        if each.review is not None and score is not None:
            reviewed.append((each.review.at, score, each))
    reviewed.sort(key=lambda case: (case[0], case[1].decision))
    scores = [score for _, score, _ in reviewed]
    cases = []
    for place, (at, score, each) in enumerate(reviewed):
        if place < len(reviewed) - MAX_CASES:
            continue
        own = next(member for member in each.record.members if member.source == source)
        trust = round(compute_standing(scores[: place + 1]).trust, 4)
        cases.append(
            TrustCaseOut.collect(
                score,
                each,
                own,
                decision_id=score.decision,
                topic=each.record.topic,
                at=at,
                trust=trust,
            )
        )
    return TrustHistoryOut(source=source, cases=cases)
