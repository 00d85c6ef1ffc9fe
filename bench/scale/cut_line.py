"""A line to a server that can be cut: both ends stay connected, and nothing gets through, as behind a pulled cable."""

import asyncio
from types import TracebackType
from typing import Self


class CutLine:
    """Listens on a port of loopback, or of another host of this machine, and passes everything on, unless it is cut.

    The target is a Unix socket, or HOST:PORT.
    """

    def __init__(self, target: str, host: str = "127.0.0.1") -> None:
        self._target = target
        self._host = host
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await self._open.wait()
            far_reader, far_writer = await self._connect()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass_on(reader, far_writer))
                    group.create_task(self._pass_on(far_reader, writer))
            finally:
                far_writer.transport.abort()
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._target.startswith("/"):
            return await asyncio.open_unix_connection(self._target)
        host, _, port = self._target.partition(":")
        return await asyncio.open_connection(host, int(port))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            await self._open.wait()
            writer.write(piece)
            await writer.drain()
        raise ConnectionResetError("one end has gone")
