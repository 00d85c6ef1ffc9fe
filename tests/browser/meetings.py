"""Meetings for the browser to look at: the demos, and what outlives meetings (decisions, reviews, obligations, trust, breakers).

Everything is recorded by the real engine, before a server is started on the same home.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.acceptance.server import Client, Server

from moothall.app.moot import Moot
from moothall.app.panels import Panel
from moothall.domain.facts import Language
from moothall.features.demos.shipped import build_demo_options, load_demo
from moothall.participants.script import find_script

PROTOCOLS: Final = (
    "persona",
    "debate",
    "advisory",
    "consensus",
    "roundtable",
    "consultation",
    "swarm",
    "pipeline",
)
SEATS: Final = ("ada", "bob", "eve")

Shown = Callable[[Language], Server]
"""`shown(language)`; see conftest.py."""

T = TypeVar("T")


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run in a thread of its own: while Playwright is open, its event loop runs in the thread of the tests."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


def environ_of(home: Path) -> dict[str, str]:
    return {"MOOT_HOME": str(home), "HOME": str(home.parent)}


async def play_demo(moot: Moot, name: str, language: Language) -> str:
    """A demo to its end; the session."""
    demo = load_demo(name, language)
    options = build_demo_options(demo, moot.environ, pace="fast")
    options["session"] = f"{name}_{language}"
    session = await moot.open(demo.topic, **options)
    await moot.run(session)
    return session


async def play_as_own(moot: Moot, name: str, language: Language) -> str:
    """The script of a demo as a session that is none: its decision is remembered, and can be reviewed."""
    demo = load_demo(name, language)
    options = {**build_demo_options(demo, moot.environ, pace="fast"), "demo": ""}
    panel = options["panel"]
    assert isinstance(panel, Panel)
    script = f"script:{find_script(name, language)}"
    seats = tuple(
        replace(seat, platform=script if seat.platform.startswith("demo") else seat.platform)
        for seat in panel.seats
    )
    options["panel"] = Panel(seats=seats)
    session = await moot.open(demo.topic, session=f"own_{name}_{language}", **options)  # type: ignore[arg-type]
    await moot.run(session)
    return session


def record_demos(
    home: Path,
    names: Iterable[str] = PROTOCOLS,
    languages: Iterable[Language] = ("en", "zh"),
    own: Iterable[str] = ("debate", "advisory"),
) -> None:
    """All of these demos; those of `own` once more as sessions whose decisions are remembered."""

    async def work() -> None:
        async with Moot(environ=environ_of(home)) as moot:
            for language in languages:
                for name in names:
                    await play_demo(moot, name, language)
                for name in own:
                    await play_as_own(moot, name, language)

    run_apart(work())


TOPICS: Final[Mapping[Language, tuple[tuple[str, str, tuple[str, str], str, str], ...]]] = {
    "en": (
        (
            "Which database holds our events?",
            "architecture",
            ("PostgreSQL", "ClickHouse"),
            "A load test before March",
            "success",
        ),
        (
            "Do we ship on Friday?",
            "release",
            ("yes", "no"),
            "Somebody watches it on Saturday",
            "failure",
        ),
        (
            "Where do we keep secrets?",
            "architecture",
            ("a vault", "environment"),
            "Rotation is automatic by June",
            "success",
        ),
        (
            "Do we drop the old API this year?",
            "product",
            ("yes", "no"),
            "Two customers have moved",
            "partial",
        ),
        (
            "Which queue do we use for mail?",
            "architecture",
            ("PostgreSQL", "RabbitMQ"),
            "Nothing is lost in a restart",
            "success",
        ),
        ("Do we hire a second designer?", "people", ("yes", "no"), "The budget is approved", ""),
    ),
    "zh": (
        (
            "事件数据存在哪个数据库？",
            "架构",
            ("PostgreSQL", "ClickHouse"),
            "三月之前做一次压力测试",
            "success",
        ),
        ("周五发布吗？", "发布", ("发布", "不发布"), "周六有人值守", "failure"),
        ("密钥放在哪里？", "架构", ("密钥库", "环境变量"), "六月前自动轮换", "success"),
    ),
}


CHANGE: Final = """\
--- a/app.py
+++ b/app.py
@@ -1,2 +1,3 @@
 import places
-where = places.hill()
+where = places.river()
+steps = places.climb(where)
"""
TYPED: Final[Mapping[str, Mapping[str, str]]] = {
    "review": {"ada": "app.py:2 major The river leaks.", "bob": "app.py:3 minor The hill is steep."}
}
"""Where an answer has a form of its own: a finding."""


def answer_by_call(local: Client, session: str, seat: str, text: str) -> None:
    """Answer whatever a seat is asked, the first choice everywhere."""
    for each in local("moot.getPersonAsks", sessionId=session, seat=seat)["asks"][:1]:
        said: dict[str, str] = {}
        for step in each["steps"]:
            after = step.get("onlyAfter")
            if after is not None and said.get(after[0]) not in after[1]:
                continue
            if step["choices"]:
                said[step["key"]] = step["choices"][0]["value"]
            elif step["kind"] == "text":
                said[step["key"]] = text
        local(
            "moot.answerAsPerson",
            sessionId=session,
            seat=seat,
            ask=each["ask"]["ask"],
            answers=said,
        )


def hold_debate(
    client: Client, topic: str, category: str, options: tuple[str, str], condition: str, **more: Any
) -> str:
    """A debate of three that takes the first option, on a condition."""
    first, second = options
    session = client.opened(
        topic=topic, category=category, options=list(options), participants=list(SEATS), **more
    )
    for seat, choice in zip(SEATS, (first, second, first), strict=True):
        client.say(session, seat, "propose", text=f"{choice}.", choice=choice)
    for seat in SEATS:
        client.say(session, seat, "pass")
    client.say(session, "ada", "synthesize", text=f"{first}.", choice=first)
    for seat in client.read(session)["waitingFor"]:
        client.say(session, seat, "pass")
    client.vote(session, "ada", confidence=0.9)
    client.vote(session, "bob", "oppose", confidence=0.6)
    client.vote(
        session, "eve", "conditional_support", confidence=0.7, condition=condition, due="2027-03-01"
    )
    return session


def fill_memory(client: Client, language: Language) -> list[str]:
    """Decisions with conditions, most of them reviewed; failures that open a circuit."""
    held = []
    for topic, category, options, condition, outcome in TOPICS[language]:
        session = hold_debate(client, topic, category, options, condition, language=language)
        held.append(session)
        if outcome:
            client("cstp.reviewDecision", decisionId=session, outcome=outcome)
    return held


def hold_review(client: Client) -> str:
    """A review of a change by two, who have a finding each."""
    opened = client(
        "moot.openSession",
        topic="River or hill?",
        protocol="review",
        seats=[{"id": seat} for seat in TYPED["review"]],
        files=[{"name": "change.diff", "text": CHANGE}],
    )
    session = str(opened["sessionId"])
    while waiting := client("moot.getView", sessionId=session)["waiting"]:
        for each in waiting:
            answer_by_call(client, session, each["seat"], TYPED["review"][each["seat"]])
    return session
