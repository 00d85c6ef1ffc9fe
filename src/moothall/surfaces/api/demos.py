"""The calls of demos: list them, play one."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from moothall.app.demos import build_demo_options, list_demos, load_demo
from moothall.codec.languages import KnownLanguage
from moothall.domain.facts import Language
from moothall.participants.demo import Pace
from moothall.surfaces.api.fields import IdempotencyKey
from moothall.surfaces.api.method import ApiModel, Call, Method, build_method


class ListDemosParams(ApiModel):
    language: KnownLanguage = "en"


class DemoOut(ApiModel):
    name: str
    protocol: str
    title: str = Field(description="Its question in a few words.")
    summary: str = Field(description="What there is to see.")
    language: Language


class DemosOut(ApiModel):
    demos: list[DemoOut]


class PlayDemoParams(ApiModel):
    name: Annotated[str, Field(min_length=1, max_length=80, description="The demo's name, from moothall.listDemos.")]
    language: KnownLanguage = "en"
    pace: Annotated[Pace, Field(description="How fast it plays; fast does not wait at all.")] = "reading"
    idempotency_key: IdempotencyKey = ""


class PlayedDemoOut(ApiModel):
    session_id: str
    demo: str
    language: Language
    status: Literal["playing"] = "playing"


def build_demos_out(language: Language) -> list[DemoOut]:
    """The demos of a language, in the order in which a newcomer may want to see them."""
    return [DemoOut.model_validate(each) for each in list_demos(language)]


async def list_all_demos(call: Call, params: ListDemosParams) -> DemosOut:
    return DemosOut(demos=build_demos_out(params.language))


async def play_demo(call: Call, params: PlayDemoParams) -> PlayedDemoOut:
    demo = load_demo(params.name, params.language)
    options = build_demo_options(demo, call.moot.environ, pace=params.pace, hosted=True)
    session = await call.deliberations.open(demo.topic, key=params.idempotency_key, by=call.caller.name, **options)
    return PlayedDemoOut(session_id=session, demo=demo.name, language=demo.language)


DEMO_METHODS: tuple[Method[Any, Any], ...] = (
    build_method(
        "moot.listDemos",
        "The meetings that ship with Moot and were written in advance, one for each protocol: name, question and what there is to see.",
        list_all_demos,
    ),
    replace(
        build_method(
            "moot.playDemo",
            "Play a demo: the real rules, with words that were written in advance, at reading speed. The session is recorded and marked as a "
            "demo, and stays out of decision memory, trust and breakers. Watch it like any session.",
            play_demo,
        ),
        needs_unbound_token=True,
    ),
)
