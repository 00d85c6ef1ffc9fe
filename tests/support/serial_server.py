"""A loopback model server that computes one answer at a time, as most do that run on a laptop; the rest wait in its line."""

import asyncio
from collections.abc import Mapping

from moothall_testkit.stub_server import Request, Script, StubServer


class SerialServer(StubServer):
    """A stub whose answers take `seconds` each, one after the other. Its list of models is there at once, unless it `is_deaf`."""

    def __init__(
        self, script: Script = (), *, seconds: float, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(script, headers=headers)
        self.seconds = seconds
        self.is_deaf = False
        self.most_at_once = 0
        """How many requests for an answer were here at the same time."""
        self.began: list[float] = []
        """When it began each answer, on the clock of the event loop."""
        self.ended: list[float] = []
        self._lock = asyncio.Lock()
        self._here = 0

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if self.is_deaf:
            await asyncio.Event().wait()
        if request.method != "POST":
            await super()._answer(request, writer)
            return
        loop = asyncio.get_running_loop()
        self._here += 1
        self.most_at_once = max(self.most_at_once, self._here)
        try:
            async with self._lock:
                self.began.append(loop.time())
                await asyncio.sleep(self.seconds)
                await super()._answer(request, writer)
                self.ended.append(loop.time())
        finally:
            self._here -= 1
