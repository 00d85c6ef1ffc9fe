"""The calls of a pipeline: open one, see where it stands."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from moothall.domain.roster import MAILBOX
from moothall.domain.topic import MAX_TOPIC_LENGTH
from moothall.features.pipeline.files import (
    PipelineFile,
    build_pipeline_options,
    load_pipeline,
    parse_pipeline,
)
from moothall.features.pipeline.timeline import (
    PipelineTimeline,
    StepLine,
    build_decision,
    list_step_lines,
)
from moothall.plugins import ApiModel, BadSetting, Call, IdempotencyKey, Language, Operations
from moothall.protocols.consultation.timeline import get_consultations
from moothall.surfaces.api.fields import ParticipantIn, SessionRef
from moothall.surfaces.api.session_options import (
    OpenerParams,
    Opening,
    build_params,
    build_seat,
    collect_options,
    open_once,
)

METHODS = Operations()


if TYPE_CHECKING:
    PipelineParams = OpenerParams
else:
    PipelineParams = build_params("pipeline")


class OpenPipelineParams(PipelineParams):
    pipeline: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200_000,
            description="The pipeline as TOML, or the name of one that ships with Moot.",
        ),
    ]
    task: Annotated[
        str,
        Field(max_length=MAX_TOPIC_LENGTH, description="The task. Default: the pipeline's own."),
    ] = ""
    idempotency_key: IdempotencyKey = ""


class ConsultationOut(ApiModel):
    seat: str
    to: str
    status: Literal["answered", "unknown", "failed", "open"]
    question: str = ""
    answer: str = ""
    record: str = ""


class PipelineOut(ApiModel):
    session_id: str
    status: Literal["thinking", "parked", "concluded", "cancelled"]
    ended_by: str | None = None
    is_running: bool = Field(description="Whether a process works on it now.")
    steps: list[StepLine]
    consultations: list[ConsultationOut]
    result: str | None = Field(
        default=None, description="The last artefact, once all steps are done."
    )
    cursor: int


@METHODS.add("moot.openPipeline", "run", tool="open_pipeline", unbound=True)
async def open_pipeline(call: Call, params: OpenPipelineParams) -> PipelineOut:
    """Start a pipeline: a director takes a task through steps, one agent at a time, with validation gates (APPROVED or REJECTED)
    and consultations in between. Give its TOML, or 'contest' for the one that ships with Moot. Then get_pipeline returns its
    state.
    """

    async def plan() -> Opening:
        return await _plan_pipeline(call, params)

    session = await open_once(call, "moot.openPipeline", params, params.idempotency_key, plan)
    return await get_pipeline(call, session)


async def _plan_pipeline(call: Call, params: OpenPipelineParams) -> Opening:
    given = await collect_options(call, params)
    # Not in the event loop: whatever a caller sends, the others are answered meanwhile.
    parsed = await asyncio.to_thread(_find_pipeline, params, given.get("language") or "en")
    pipeline = _check_platforms(call, parsed, is_filled=bool(given.get("models")))
    options = build_pipeline_options(pipeline, given)
    topic = params.task or pipeline.task
    if not topic:
        raise BadSetting("the pipeline has no task; give one as 'task'")
    return Opening(topic, options)


def _find_pipeline(params: OpenPipelineParams, language: Language) -> PipelineFile:
    text = params.pipeline
    if "[" not in text and "\n" not in text:
        # A path would let a caller read files of the server's.
        if "/" in text or text.endswith(".toml"):
            raise BadSetting(
                "give the pipeline as TOML text, or the name of one that ships with Moot"
            )
        return load_pipeline(text, language)
    return parse_pipeline(text, "the pipeline", Path.cwd())


def _check_platforms(call: Call, pipeline: PipelineFile, *, is_filled: bool) -> PipelineFile:
    """Return the pipeline with platforms that this caller may give; without models, an agent without one answers from outside."""
    agents = []
    for agent in pipeline.agents:
        platform = agent.platform or ("" if is_filled else pipeline.platform or MAILBOX)
        form = ParticipantIn(
            id=agent.id,
            platform=platform or MAILBOX,
            stance=agent.stance,
            instructions=agent.instructions,
        )
        agents.append(
            replace(
                build_seat(call, form),
                platform=platform,
                weight=agent.weight,
                patience=agent.patience,
            )
        )
    return replace(pipeline, agents=tuple(agents))


@METHODS.add("moot.getPipeline", "read", tool="get_pipeline")
async def get_pipeline(call: Call, session_id: SessionRef) -> PipelineOut:
    """The state of a pipeline: its steps, the agent at work, the consultations, and the result once all steps are done."""
    timeline = await call.moot.load_timeline(session_id)
    if not isinstance(timeline, PipelineTimeline):
        raise BadSetting(
            f"session {session_id!r} is not a pipeline",
            command=f"`moot show {session_id}` shows it",
            tool="get_session shows it",
        )
    decision = build_decision(timeline)
    consultations: list[ConsultationOut] = []
    for line in get_consultations(timeline).consultations:
        answer = line.advice.answer if line.advice and line.filed else ""
        consultations.append(
            ConsultationOut.collect(
                line,
                question=line.request.question if line.request else "",
                answer=answer,
                record=line.filed.path if line.filed else "",
            )
        )
    return PipelineOut(
        session_id=session_id,
        status=decision.status,
        ended_by=decision.ended_by,
        is_running=await call.moot.is_running(session_id),
        steps=list_step_lines(timeline),
        consultations=consultations,
        result=decision.decision.text if decision.decision else None,
        cursor=timeline.seq,
    )
