"""What fifty tabs of a real Firefox say of a line that dies (`python -m checks.firefox_outages`): see docs/page.md.

Firefox reaches the server by a SOCKS proxy on loopback, which can swallow what it is sent, or cut every line. In each outage
every tab must say "offline" until it is over; what was said meanwhile must stand in all of them afterwards, and a text that was
not sent must still be in its field.
"""

import asyncio
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from tests.acceptance.doors import Cli
from tests.acceptance.server import Server
from tests.browser.test_firefox import PROGRAM, Firefox, open_firefox
from tests.browser.test_streams import wait_for_streams

TABS = 50
SESSIONS = 10
OUTAGE = 60.0
UNSENT = "Not sent yet."


class Outage(NamedTuple):
    name: str
    begin: Callable[[], object]
    end: Callable[[], object]
    can_speak: bool = False
    """Whether the server can be reached meanwhile, by others."""


class Proxy:
    """SOCKS 5 to loopback, in a thread of its own."""

    def __init__(self) -> None:
        self.state: Literal["open", "swallows", "cut"] = "open"
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = int(server.sockets[0].getsockname()[1])
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def open(self) -> None:
        self.state = "open"

    def swallow(self) -> None:
        """Take what comes and hand nothing on."""
        self.state = "swallows"

    def cut(self) -> None:
        """Close all lines, and every new one at once."""
        self.state = "cut"
        for each in tuple(self._writers):
            self._loop.call_soon_threadsafe(each.close)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if self.state == "cut":
                return
            methods = (await reader.readexactly(2))[1]
            await reader.readexactly(methods)
            writer.write(b"\x05\x00")
            kind = (await reader.readexactly(4))[3]
            await reader.readexactly(4 if kind == 1 else (await reader.readexactly(1))[0])
            port = int.from_bytes(await reader.readexactly(2))
            writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
            upstream, downstream = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(self._pass_on(reader, downstream), self._pass_on(upstream, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A line on which something was swallowed has lost it for good.
        is_whole = True
        while data := await reader.read(65_536):
            is_whole = is_whole and self.state == "open"
            if is_whole:
                writer.write(data)
                await writer.drain()
        if is_whole:
            writer.close()


def wait_until_all_say(
    firefox: Firefox, tabs: list[str], words: str, within: str = ".state-word"
) -> float:
    """The seconds until every tab shows these words."""
    began = time.monotonic()
    for tab in tabs:
        firefox.wait_for(tab, words, within)
    return time.monotonic() - began


def say_everywhere(server: Server, sessions: list[str], words: str) -> None:
    for session in sessions:
        server.local("moot.giveInput", sessionId=session, text=words)


def check_outage(
    firefox: Firefox, server: Server, tabs: list[str], sessions: list[str], outage: Outage
) -> None:
    """One row: when all tabs said so, how often one said otherwise before the end, when all were back and had what was said."""
    outage.begin()
    noticed, ends, untrue = (
        wait_until_all_say(firefox, tabs, "offline"),
        time.monotonic() + OUTAGE,
        0,
    )
    if outage.can_speak:
        say_everywhere(server, sessions, f"During: {outage.name}.")
    while time.monotonic() < ends:
        untrue += sum(firefox.read(tab, ".state-word") != "offline" for tab in tabs)
        time.sleep(5)
    outage.end()
    back = wait_until_all_say(firefox, tabs, "waiting")
    say_everywhere(server, sessions, f"After: {outage.name}.")
    for when in ("During", "After") if outage.can_speak else ("After",):
        wait_until_all_say(firefox, tabs, f"{when}: {outage.name}.", ".timeline")
    is_unsent = firefox.evaluate(tabs[0], "document.querySelector('#say').value") == UNSENT
    wait_for_streams(server, 1)
    print(
        f"| {outage.name} | {noticed:.0f} | {untrue} | {back:.0f} | all | {'there' if is_unsent else 'LOST'} |",
        flush=True,
    )


def main() -> None:
    assert PROGRAM is not None, "no Firefox is installed: apt install firefox-esr"
    proxy = Proxy()
    preferences = {
        "network.proxy.type": 1,
        "network.proxy.socks": "127.0.0.1",
        "network.proxy.socks_port": proxy.port,
        "network.proxy.allow_hijacking_localhost": True,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            Server(Cli(folder / "home", folder)) as server,
            open_firefox(folder, preferences) as firefox,
        ):
            sessions = [
                server.local.opened(topic=f"Question {number}?") for number in range(SESSIONS)
            ]
            firefox.sign_in(server)
            began = time.monotonic()
            tabs = [
                firefox.open(f"http://{server.address}/s/{sessions[number % SESSIONS]}")
                for number in range(TABS)
            ]
            wait_until_all_say(firefox, tabs, "waiting")
            wait_for_streams(server, 1)
            print(
                f"{TABS} tabs of {SESSIONS} sessions are live after {time.monotonic() - began:.0f} s, by one stream.\n"
            )
            firefox.type_into(tabs[0], "#say", UNSENT)
            print(
                "| outage of a minute | all say so after, s | untrue words | all back after, s | what was said | unsent text |"
            )
            print("|---|---|---|---|---|---|", flush=True)
            for outage in (
                Outage("swallowed line", proxy.swallow, proxy.open, can_speak=True),
                Outage("no network", proxy.cut, proxy.open, can_speak=True),
                Outage(
                    "server asleep",
                    lambda: os.kill(server.pid, signal.SIGSTOP),
                    lambda: os.kill(server.pid, signal.SIGCONT),
                ),
                Outage("server killed", server.kill, server.start),
            ):
                check_outage(firefox, server, tabs, sessions, outage)


if __name__ == "__main__":
    main()
