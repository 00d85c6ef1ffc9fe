"""Calls of every role with values that fit, nearly fit and do not fit at all: no internal error, nothing refused is written."""

import asyncio
import contextlib
import contextvars
import json
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from moothall import Moot
from moothall.surfaces.api.method import Call, Caller, Role, ServerContext
from moothall.surfaces.api.methods import TABLE, open_server_context
from moothall.surfaces.rpc import Dispatcher

INTERNAL: Final = -32603
HOSTILE: Final[tuple[Any, ...]] = (
    *(
        None,
        "",
        " ",
        "a\nb",
        "\x00",
        "\ud800",
        "../../x",
        "_access",
        "_notices",
        "x" * 5_000,
        -1,
        0,
        10**30,
        1e308,
        True,
        False,
    ),
    *(
        [],
        {},
        [[]],
        {"a": {"b": []}},
        ["a\x00"],
        [None],
        {"\x00": 1},
        "аda",
        "USER",
        "\u202eada",
        "ada\u0301",
        "1e400",
        "NaN",
    ),
)
PLAIN: Final[dict[str, tuple[Any, ...]]] = {
    "topic": ("A or B?", "要发布吗？"),
    "task": ("Do it.",),
    "question": ("Why?",),
    "text": ("So it is.", "No."),
    "content": ("So it is.",),
    "type": ("propose", "vote", "challenge", "support", "pass"),
    "confidence": (0.8, 1, 0),
    "force": (True,),
    "outcome": ("success", "failure"),
    "participant": ("ada", "bob", "eve"),
    "seat": ("ada", "bob", "eve"),
    "seats": (["ada", "bob"], ["ada", "ada"], ["ada"]),
    "participants": (["ada", "bob"], [{"id": "ada", "platform": "vllm:x"}, "bob"]),
    "pipeline": ("contest",),
    "name": ("contest",),
    "title": ("Caches",),
    "timeoutSeconds": (0, 0.01),
    "idempotencyKey": ("one", "two"),
    "limit": (1, 5),
}
NUMBER: contextvars.ContextVar[int] = contextvars.ContextVar("number", default=0)
"""The call that a task works for: what earlier calls left in the background is not the current one's."""
WAIT_SECONDS: Final = 5.0
"""A call that waits for others is left after so long."""


@dataclass(slots=True)
class FuzzResult:
    """What came of the calls."""

    calls: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """By role and error code, or `ok`."""
    internal: list[str] = field(default_factory=list)
    wrote: list[str] = field(default_factory=list)
    """Refused calls that had appended to the ledger."""
    appended: set[int] = field(default_factory=set)
    """The calls that appended."""
    slowest: float = 0.0
    left: int = 0
    """Calls that waited for others, and were left."""


def build_callers(session: str) -> list[Caller]:
    roles: tuple[Role, ...] = ("local", "owner", "operator", "recorder", "observer")
    callers = [Caller(role=role, token="" if role == "local" else f"{role}1") for role in roles]
    seats = [
        Caller(role="seat", token="seat1", session=session, seat="ada"),
        Caller(role="agent", token="agent1", seat="eve"),
    ]
    return [*callers, *seats, Caller(role="owner", token="owner2", session=session)]


def draw_params(chance: random.Random, name: str, sessions: list[str]) -> dict[str, Any]:
    """Parameters for a call: mostly what fits, of which some are left out or replaced."""
    params: dict[str, Any] = {}
    for key, info in TABLE[name].params.model_fields.items():
        alias = info.alias or key
        is_session = alias in {"sessionId", "deliberationId", "decisionId"}
        values = sessions if is_session else PLAIN.get(alias, ())
        draw = chance.random()
        if draw < 0.12:
            params[alias] = chance.choice(HOSTILE)
        elif values and draw < 0.9:
            params[alias] = chance.choice(values)
        elif info.is_required() and draw < 0.95:
            params[alias] = chance.choice(("ada", 1, 0.5, ["ada"], {"a": 1}, "2026-12-01", True))
    if chance.random() < 0.03:
        params[chance.choice(("extra", "__class__", ""))] = 1
    return params


def mutate_body(chance: random.Random, body: bytes) -> bytes:
    """Now and then the bytes of a request are changed, cut or doubled."""
    if chance.random() > 0.05:
        return body
    at = chance.randrange(len(body))
    return chance.choice(
        (
            body[:at],
            body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :],
            body + body[at:],
            b"[" * at + body,
        )
    )


async def run_calls(calls: int, seconds: float, seed: int = 1) -> FuzzResult:
    """Make so many calls, or as many as there is time for."""
    result, chance, end = FuzzResult(), random.Random(seed), time.monotonic() + seconds
    # What a call writes as files, it writes below the folder in which the server was started.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        environ = {
            "MOOT_HOME": str(Path(folder) / "home"),
            "HOME": folder,
            "MOOT_MEMORY": "off",
            "PATH": "",
        }
        async with open_server_context(Moot(environ=environ)) as context:
            dispatcher = Dispatcher(TABLE, dict)
            record_appends(context, result)
            sessions, callers = [""], list[Caller]()
            while result.calls < calls and time.monotonic() < end:
                if result.calls % 500 == 0:
                    # A fresh session now and then: most calls of a long run would meet one that has ended.
                    session = await context.moot.open(
                        "A or B?", protocol="debate", seats={"ada": "mailbox", "bob": "mailbox"}
                    )
                    sessions, callers = [*sessions[-5:], session], build_callers(session)
                await _make_call(
                    context, dispatcher, chance, result, sessions, chance.choice(callers)
                )
    return result


def record_appends(context: ServerContext, result: FuzzResult) -> None:
    """Note for which call each append to the ledger is made."""
    ledger: Any = context.moot.ledger
    append = ledger.append

    async def append_noted(*given: Any) -> Any:
        result.appended.add(NUMBER.get())
        return await append(*given)

    ledger.append = append_noted


async def _make_call(
    context: ServerContext,
    dispatcher: Dispatcher,
    chance: random.Random,
    result: FuzzResult,
    sessions: list[str],
    caller: Caller,
) -> None:
    name = chance.choice(sorted(TABLE))
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": name,
        "params": draw_params(chance, name, sessions),
    }
    body = mutate_body(chance, json.dumps(request).encode())
    began = time.monotonic()
    result.calls += 1
    NUMBER.set(result.calls)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            answer = await dispatcher.answer(Call(context=context, caller=caller), body)
    except TimeoutError:
        result.left += 1
        return
    result.slowest = max(result.slowest, time.monotonic() - began)
    error = json.loads(answer).get("error") if answer and answer.startswith("{") else None
    result.outcomes[f"{caller.role} {error['code'] if error else 'ok'}"] += 1
    if error is None:
        return
    if error["code"] == INTERNAL:
        result.internal.append(f"{caller.role} {body[:500]!r}: {error}")
    if result.calls in result.appended:
        result.wrote.append(f"{caller.role} {body[:500]!r}: {error}")
