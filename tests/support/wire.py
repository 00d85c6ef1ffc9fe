"""The calls of a server within this process, on a ledger in memory: from any thread, without a socket."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from moothall import Moot
from moothall.memory.tokens import Identity
from moothall.surfaces.api.method import Call, Caller, ServerContext
from moothall.surfaces.api.methods import TABLE, TOOLS, open_server_context

DEADLINE = 60.0

T = TypeVar("T")


class ApiModel:
    """A server's calls, as one caller makes them; `as_seat` is somebody with a token."""

    def __init__(
        self, context: ServerContext, loop: asyncio.AbstractEventLoop, caller: Caller | None = None
    ) -> None:
        self.context = context
        self._loop = loop
        self._caller = caller or Caller()

    @property
    def moot(self) -> Moot:
        return self.context.moot

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE)

    def __call__(self, method: str, /, **params: Any) -> Any:
        """The result of a call by its name, or of a tool by its; raises what the call raises."""
        found = TABLE[method] if method in TABLE else TOOLS[method]
        return self.run(found.invoke(Call(context=self.context, caller=self._caller), params))

    def as_seat(self, session: str, seat: str, family: str = "") -> "ApiModel":
        async def identify() -> Caller:
            issued = await self.moot.access.issue(
                "seat", session=session, seat=seat, family=family, lasts=timedelta(days=1)
            )
            identity = await self.moot.access.identify(issued.secret)
            assert isinstance(identity, Identity)
            return Caller.from_identity(identity)

        return ApiModel(self.context, self._loop, self.run(identify()))

    def open(self, *seats: Any, **params: Any) -> str:
        asked = {
            "topic": "Which store?",
            "stakes": "high",
            "participants": list(seats or ("ada", "bob", "cy")),
            **params,
        }
        return str(self("cstp.openDeliberation", **asked)["deliberationId"])

    def say(self, session: str, seat: str, kind: str, /, **words: Any) -> Any:
        if kind not in {"vote", "pass"}:
            words = {"text": f"{seat} {kind}s", **words}
        return self("cstp.contribute", deliberationId=session, participant=seat, type=kind, **words)

    def read(self, session: str, **params: Any) -> Any:
        return self("cstp.getDeliberation", deliberationId=session, **params)

    def bring_to_vote(self, session: str, **syntheses: str) -> dict[str, int]:
        """Let everyone propose, nobody argue, and these write a synthesis; the number of each one's candidate."""
        seats = [each["id"] for each in self.read(session)["participants"]]
        for seat in seats:
            self.say(session, seat, "propose")
        for seat in seats:
            self.say(session, seat, "pass")
        found = {}
        for seat in seats:
            words = (
                {"text": syntheses[seat], "choice": syntheses[seat]} if seat in syntheses else {}
            )
            found[seat] = self.say(session, seat, "synthesize" if words else "pass", **words).get(
                "id"
            )
        return {seat: number for seat, number in found.items() if number is not None}


@contextmanager
def serve_within(home: Path) -> Iterator[ApiModel]:
    """Serve calls on a ledger in memory, on an event loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    ended = asyncio.run_coroutine_threadsafe(_make_event(), loop).result(DEADLINE)
    ready: asyncio.Queue[ServerContext] = asyncio.Queue()

    async def serve() -> None:
        moot = Moot(environ={"MOOT_HOME": str(home), "HOME": str(home), "MOOT_LEDGER": "memory:"})
        async with open_server_context(moot) as context:
            await ready.put(context)
            await ended.wait()

    serving = asyncio.run_coroutine_threadsafe(serve(), loop)
    try:
        yield ApiModel(asyncio.run_coroutine_threadsafe(ready.get(), loop).result(DEADLINE), loop)
    finally:
        loop.call_soon_threadsafe(ended.set)
        serving.result(DEADLINE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DEADLINE)
        loop.close()


async def _make_event() -> asyncio.Event:
    return asyncio.Event()
