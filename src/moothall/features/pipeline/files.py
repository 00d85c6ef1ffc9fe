"""Pipelines from TOML files: agents, steps, what is passed on, gates, and what follows a rejection.

[pipeline]
task = "Forecast the demand of the city's bikes."

[[agent]]
id = "modeler"
platform = "openai:gpt-5-mini"      # optional: `--model` fills the agents that have none, else `platform` of the pipeline

[[pair]]                            # whom an agent usually consults; it may consult anyone
from = "modeler"
to = "researcher"
about = "which method to choose"

[[step]]
name = "model"
agent = "modeler"
task = "Write down the model."

[[step]]
name = "check"
agent = "validator"
task = "Is the model sound?"
gate = true
on_reject = "back"                  # or "consult", "stop"
back_to = "model"
max_rejections = 2
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, field, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from moothall.app.panels import Panel, SeatForm, resolve_platform_path
from moothall.app.special_sessions import parse_seats
from moothall.codec.settings import KnownLanguage, explain_validation_error
from moothall.disk.text_files import parse_toml, read_text_file
from moothall.domain.replace import dataclass
from moothall.errors import FolderUnwritable
from moothall.features.pipeline.facts import Step
from moothall.features.pipeline.words import PIPELINE_PROMPT
from moothall.locale.texts import DEFAULT_LANGUAGE, find_translation
from moothall.participants.record_writer import ensure_folder
from moothall.plugins import (
    AnyPlugin,
    BadSetting,
    Language,
    MootError,
    Options,
    Seat,
    SessionFolder,
)

if TYPE_CHECKING:
    from moothall.app.moot import Moot

ARTEFACTS: Final = "artefacts"
"""The folder of a project that holds what pipelines made in it."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class HeadForm(_Form):
    """`[pipeline]`"""

    task: str = ""
    language: KnownLanguage | None = None
    platform: str = ""
    patience: Annotated[float, Field(gt=0)] = 600.0
    consult_limit: Annotated[int, Field(ge=0, le=100)] = 3
    consult_total: Annotated[int, Field(ge=0, le=1_000)] = 24


class PairForm(_Form):
    """`[[pair]]`: a habit, not a limit."""

    asker: Annotated[str, Field(alias="from")]
    to: str
    about: str = ""


class PipelineForm(_Form):
    pipeline: HeadForm = HeadForm()
    agent: Annotated[list[SeatForm], Field(min_length=1)]
    pair: list[PairForm] = []
    step: Annotated[list[Step], Field(min_length=1)]


_TABLES: Final[Mapping[str, type]] = {
    "": PipelineForm,
    "pipeline": HeadForm,
    "agent": SeatForm,
    "pair": PairForm,
    "step": Step,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFile:
    """A parsed pipeline file; agents may still lack a platform."""

    task: str
    language: Language | None
    agents: tuple[Seat, ...]
    platform: str = ""
    """What fills the agents that have no platform, where no model is given for them."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    consult_limit: int | None = None
    consult_total: int | None = None


def list_shipped() -> list[str]:
    """Return the names of the pipelines that ship with Moot."""
    return sorted(
        {
            path.name.split(".")[0]
            for path in _folder().iterdir()
            if path.name.endswith(".pipeline.toml")
        }
    )


def get_shipped_path(name: str, language: Language = "en") -> Path:
    """Return the file of a pipeline that ships with Moot; raises BadSetting."""
    if name not in list_shipped():
        raise BadSetting(
            f"no pipeline is called {name!r}; known: {', '.join(list_shipped())}, or give a .toml file"
        )
    return find_translation(_folder(), name, language, "pipeline.toml")


def load_pipeline(name: str, language: Language = "en") -> PipelineFile:
    """Load a pipeline by its file, or by the name of one that ships with Moot; raises BadSetting."""
    path = Path(name) if name.endswith(".toml") or "/" in name else get_shipped_path(name, language)
    what = f"the pipeline file {path}"
    return parse_pipeline(
        read_text_file(path.expanduser(), what), what, path.expanduser().absolute().parent
    )


def parse_pipeline(text: str, what: str, folder: Path) -> PipelineFile:
    """Parse a pipeline. Scripts that it names are resolved against `folder`. Raises BadSetting."""
    document = parse_toml(text, what)
    try:
        form = PipelineForm.model_validate(document)
    except ValidationError as cause:
        raise BadSetting(f"{what}: {explain_validation_error(cause, tables=_TABLES)}") from cause
    try:
        agents = tuple(_build_agent(form, each, folder) for each in form.agent)
    except MootError as cause:
        raise BadSetting(f"{what}: {cause}") from cause
    # A copy of a pipeline that ships with Moot runs anywhere, with the script that ships beside the original.
    script = form.pipeline.platform.removeprefix("script:")
    place = (
        _folder() if (_folder() / script).is_file() and not (folder / script).is_file() else folder
    )
    known = [agent.id for agent in agents]
    for pair in form.pair:
        if not {pair.asker, pair.to} <= set(known):
            raise BadSetting(
                f"{what}: the pair {pair.asker} → {pair.to} names an unknown agent; agents: {', '.join(known)}"
            )
    return PipelineFile(
        task=form.pipeline.task.strip(),
        language=form.pipeline.language,
        agents=agents,
        platform=resolve_platform_path(form.pipeline.platform, place),
        settings={
            "steps": [asdict(step) for step in form.step],
            "patience": form.pipeline.patience,
        },
        consult_limit=form.pipeline.consult_limit,
        consult_total=form.pipeline.consult_total,
    )


def build_pipeline_options(pipeline: PipelineFile, options: Options) -> Options:
    """Return the options of a session that runs the pipeline: those given, and what its file says where they say nothing.

    `seats` (`name=platform`, or `Seat`s) fill agents by name; `models` fill in turn those that then have no platform: never one
    that the file gives to a person or a program. Raises BadSetting when a seat is not an agent of the pipeline.
    """
    named = {seat.id: seat.platform for seat in parse_seats(options)}
    unknown = sorted(set(named) - {agent.id for agent in pipeline.agents})
    if unknown:
        raise BadSetting(
            f"no agent is called {unknown[0]!r}; the agents are: {', '.join(a.id for a in pipeline.agents)}"
        )
    models = [resolve_platform_path(model, Path()) for model in options.get("models") or ()]
    fill = cycle(models or [pipeline.platform])
    agents = [
        replace(each, platform=named.get(each.id) or each.platform or next(fill))
        for each in pipeline.agents
    ]
    own: Options = {
        "language": pipeline.language,
        "consult_limit": pipeline.consult_limit,
        "consult_total": pipeline.consult_total,
    }
    fixed: Options = {
        "protocol": "pipeline",
        "seats": [],
        "panel": Panel(seats=tuple(agents)),
        "settings": {**pipeline.settings, **(options.get("settings") or {})},
    }
    return {**own, **options, **fixed}


@asynccontextmanager
async def keep_artefacts(
    moot: "Moot", plugin: AnyPlugin, session: str, base: Path | None = None
) -> AsyncIterator[SessionFolder]:
    """Write the artefacts of a pipeline that has run here. They lie in the project, whatever the parent folder is."""
    folder = SessionFolder()
    yield folder
    try:
        folder.path = await write_artefacts(moot, session)
    except FolderUnwritable as error:
        # The session itself is whole: `moot export SESSION artefacts` has them.
        folder.fault = str(error)


async def write_artefacts(moot: "Moot", session: str) -> Path | None:
    """Write the newest artefact of each step to `artefacts/SESSION/STEP.md` of the project, and return their folder.

    None for a session of another protocol, for a demo, and where nothing was made. Raises FolderUnwritable.
    """
    from moothall.disk.private import write_atomically
    from moothall.features.pipeline.timeline import PipelineTimeline

    timeline = await moot.load_timeline(session)
    opened = timeline.session_state.opened
    if (
        not isinstance(timeline, PipelineTimeline)
        or opened.consult is None
        or opened.demo
        or not timeline.state.made
    ):
        return None
    project, made = Path(opened.consult.folder), timeline.state.made.values()

    def write() -> Path:
        folder = ensure_folder(project, (ARTEFACTS, timeline.session))
        for each in made:
            # A step's name holds neither dots nor slashes.
            write_atomically(folder / f"{each.step}.md", each.text.rstrip("\n") + "\n")
        return folder

    try:
        return await asyncio.to_thread(write)
    except OSError as cause:
        raise FolderUnwritable(
            f"the artefacts cannot be written to {project / ARTEFACTS}: {cause.strerror}"
        ) from cause


def _build_agent(form: PipelineForm, agent: SeatForm, folder: Path) -> Seat:
    partners: list[str] = []
    for pair in form.pair:
        if pair.asker == agent.id:
            partners.append(f"@{pair.to} ({pair.about})" if pair.about else f"@{pair.to}")
    usual = ""
    if partners:
        words = PIPELINE_PROMPT[form.pipeline.language or DEFAULT_LANGUAGE]
        usual = words.usual_partners.format(pairs=", ".join(partners))
    return agent.build(folder, usual)


def _folder() -> Path:
    return Path(__file__).with_name("shipped")
