"""A line to a server that can be cut: both ends stay connected, and nothing gets through, as behind a pulled cable."""

import asyncio
from types import TracebackType
from typing import Self


class CutLine:
    """Listens on a port of loopback and passes everything on to a Unix socket, unless it is cut."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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
            far_reader, far_writer = await asyncio.open_unix_connection(self._target)
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

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            await self._open.wait()
            writer.write(piece)
            await writer.drain()
        raise ConnectionResetError("one end has gone")
