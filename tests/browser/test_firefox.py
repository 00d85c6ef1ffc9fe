"""The stream of the page in Firefox, driven by WebDriver BiDi: where a Firefox is installed (Debian's `firefox-esr`)."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from tests.acceptance.server import Server
from tests.browser.conftest import sign_in
from tests.browser.test_streams import wait_for_streams
from websockets.sync.client import ClientConnection, connect

TABS = 8
DEADLINE = 90.0
PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Firefox is installed: apt install firefox-esr"
)


class Firefox:
    """A headless Firefox: commands of WebDriver BiDi, one after the other."""

    def __init__(self, line: ClientConnection) -> None:
        self._line = line
        self._last = 0

    def __call__(self, method: str, **params: Any) -> Any:
        self._last += 1
        self._line.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            answer = json.loads(self._line.recv(timeout=DEADLINE))
            if answer.get("id") == self._last:
                assert answer["type"] == "success", answer
                return answer["result"]

    def read(self, tab: str, within: str = "body") -> str:
        """The words that a tab shows."""
        script = f"document.querySelector({within!r})?.innerText ?? ''"
        return str(self.evaluate(tab, script))

    def evaluate(self, tab: str, expression: str) -> Any:
        return self(
            "script.evaluate", expression=expression, target={"context": tab}, awaitPromise=True
        )["result"].get("value")

    def type_into(self, tab: str, field: str, words: str) -> None:
        self.evaluate(tab, f"document.querySelector({field!r}).focus()")
        keys = [{"type": kind, "value": key} for key in words for kind in ("keyDown", "keyUp")]
        self(
            "input.performActions",
            context=tab,
            actions=[{"type": "key", "id": "keyboard", "actions": keys}],
        )

    def sign_in(self, server: Server) -> None:
        cookie = sign_in(server)
        value = {"type": "string", "value": cookie["value"]}
        self(
            "storage.setCookie",
            cookie={"name": cookie["name"], "value": value, "domain": "127.0.0.1", "path": "/"},
        )

    def open(self, address: str) -> str:
        tab = str(self("browsingContext.create", type="tab")["context"])
        self("browsingContext.navigate", context=tab, url=address, wait="complete")
        return tab

    def wait_for(self, tab: str, words: str, within: str = "body") -> None:
        """Wait until a tab shows these words."""
        ends = time.monotonic() + DEADLINE
        while words not in (shown := self.read(tab, within)):
            assert time.monotonic() < ends, shown
            time.sleep(0.1)


@contextmanager
def open_firefox(
    folder: Path, preferences: Mapping[str, object] = MappingProxyType({})
) -> Iterator[Firefox]:
    """A Firefox with a profile of its own."""
    assert PROGRAM is not None
    profile = folder / "profile"
    profile.mkdir()
    lines = (
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
        for name, value in preferences.items()
    )
    (profile / "user.js").write_text("".join(lines))
    arguments = [
        PROGRAM,
        "--headless",
        "--no-remote",
        "--profile",
        str(profile),
        "--remote-debugging-port",
        "0",
    ]
    with subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            port, ends = profile / "WebDriverBiDiServer.json", time.monotonic() + DEADLINE
            while not port.exists() or not port.read_text():
                assert time.monotonic() < ends, "Firefox does not start"
                time.sleep(0.1)
            place = json.loads(port.read_text())
            with connect(
                f"ws://{place['ws_host']}:{place['ws_port']}/session", max_size=None
            ) as line:
                browser = Firefox(line)
                browser("session.new", capabilities={})
                yield browser
        finally:
            process.terminate()


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    with open_firefox(tmp_path) as browser:
        yield browser


def test_eight_tabs_of_firefox_are_live_and_say_when_the_server_is_gone(
    own_server: Server, firefox: Firefox
) -> None:
    """W-9: one stream for all tabs; offline is said of a killed server, and nothing is lost when it is back."""
    server = own_server
    session = server.local.opened()
    firefox.sign_in(server)
    tabs = [firefox.open(f"http://{server.address}/s/{session}") for _ in range(TABS)]
    for tab in tabs:
        firefox.wait_for(tab, "waiting", ".state-word")
    wait_for_streams(server, 1)
    server.local("moot.giveInput", sessionId=session, text="Heard in Firefox.")
    for tab in tabs:
        firefox.wait_for(tab, "Heard in Firefox.")
    server.kill()
    firefox.wait_for(tabs[-1], "offline", ".state-word")
    server.start()
    firefox.wait_for(tabs[-1], "waiting", ".state-word")
    server.local("moot.giveInput", sessionId=session, text="Heard again.")
    for tab in tabs[-2:]:
        firefox.wait_for(tab, "Heard again.")
