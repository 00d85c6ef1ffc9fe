"""The calls that list demos, and play one."""

from typing import Annotated, Final, Literal

from pydantic import Field

from moothall.codec.settings import KnownLanguage
from moothall.features.demos.shipped import build_demo_options, list_demos, load_demo
from moothall.participants.script import Pace
from moothall.plugins import ApiModel, Call, IdempotencyKey, Language, Operations
from moothall.surfaces.api.session_options import Opening, open_once

METHODS: Final = Operations()


class DemoOut(ApiModel):
    name: str
    protocol: str
    title: str = Field(description="Its question in a few words.")
    summary: str = Field(description="What there is to see.")
    language: Language


class DemosOut(ApiModel):
    demos: list[DemoOut]


class PlayedDemoOut(ApiModel):
    session_id: str
    demo: str
    language: Language
    status: Literal["playing"] = "playing"


@METHODS.add("moot.listDemos", "read")
async def list_all_demos(call: Call, language: KnownLanguage = "en") -> DemosOut:
    """The meetings that ship with Moot and were written in advance, one for each protocol: name, question and what there is to
    see.
    """
    return build_demos_out(language)


def build_demos_out(language: Language) -> DemosOut:
    return DemosOut(demos=[DemoOut.model_validate(each) for each in list_demos(language)])


@METHODS.add("moot.playDemo", "run", unbound=True)
async def play_demo(
    call: Call,
    name: Annotated[
        str, Field(min_length=1, max_length=80, description="The demo's name, from moot.listDemos.")
    ],
    language: KnownLanguage = "en",
    pace: Annotated[
        Pace, Field(description="How fast it plays; fast does not wait at all.")
    ] = "reading",
    idempotency_key: IdempotencyKey = "",
) -> PlayedDemoOut:
    """Play a demo: the real rules, with words that were written in advance, at reading speed. The session is recorded and marked
    as a demo, and stays out of decision memory, trust and breakers. Watch it like any session.
    """
    demo = load_demo(name, language)

    async def plan() -> Opening:
        options = build_demo_options(demo, call.moot.environ, pace=pace, hosted=True)
        return Opening(demo.topic, options)

    words = {"name": name, "language": language, "pace": pace}
    session = await open_once(call, "moot.playDemo", words, idempotency_key, plan)
    return PlayedDemoOut(session_id=session, demo=demo.name, language=demo.language)
