"""Real browsers on real servers: what the tests of the page share.

Every page fails its test on an error in its console, an exception, a violation of the content security policy, or a request to
another origin. Waits are those of Playwright, with limits that a busy machine keeps.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from checks.install_browser import REMEDY, find_browser
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.acceptance.doors import Cli
from tests.acceptance.server import Server
from tests.browser.meetings import Shown, fill_memory, record_demos
from tests.browser.pages import Visit, Watch
from tests.support.model_provider import ModelProvider

from moothall.domain.facts import Language

_LOGINS: WeakKeyDictionary[Server, tuple[str, str]] = WeakKeyDictionary()
PATIENCE = 60_000
"""Milliseconds for what should take a moment."""

# Chromium refuses its sandbox to root; the rest keeps it from calling home.
OPTIONS = (
    *(("--no-sandbox",) if os.geteuid() == 0 else ()),
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a module.

    Not for the whole run: while Playwright is open, its event loop runs in this thread, and other tests of the same worker could
    not start theirs.
    """
    program = find_browser()
    assert program is not None, REMEDY
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=list(OPTIONS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """`moot serve` with a home of its own, for the tests of a module.

    With models behind a real HTTP server where the module says what these answer otherwise: `change_answer`.
    """
    folder = tmp_path_factory.mktemp("served")
    with ExitStack() as stack:
        environ = {}
        if (change := getattr(request.module, "change_answer", None)) is not None:
            provider = stack.enter_context(ModelProvider(change=change))
            environ = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "sk-loopback"}
        yield stack.enter_context(Server(Cli(folder / "home", folder, **environ)))


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """`shown("en")`: a server with all demos of a language, decisions with reviews and obligations; made when first asked for."""
    found: dict[Language, Server] = {}

    def show(language: Language) -> Server:
        if language not in found:
            folder = tmp_path_factory.mktemp(language)
            shutil.copytree(_record_once(tmp_path_factory, language), folder / "home")
            found[language] = Server(Cli(folder / "home", folder))
        return found[language]

    yield show
    for server in found.values():
        server.kill()


def _record_once(factory: pytest.TempPathFactory, language: Language) -> Path:
    """The home of `shown`, which the first worker that needs it makes for all."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"shown-{language}"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            record_demos(folder / "home", languages=(language,))
            with Server(Cli(folder / "home", folder)) as server:
                fill_memory(server.local, language)
                server.stop()
            (folder / "done").touch()
    return folder / "home"


@pytest.fixture
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for a single test, which may kill it."""
    folder = tmp_path_factory.mktemp("own")
    with Server(Cli(folder / "home", folder)) as found:
        yield found


def sign_in(server: Server) -> Any:
    """The cookie of a browser that its owner's key has signed in.

    All browsers of a server have one login: after ten at once a key waits five seconds for each further one.
    """
    if server not in _LOGINS:
        body = json.dumps({"token": server.cli.key}).encode()
        found = server.nobody.request("POST", "/login", body, origin=f"http://{server.address}")
        assert found.status == 204, found
        name, _, value = found.headers["set-cookie"].partition(";")[0].partition("=")
        _LOGINS[server] = (name, value)
    name, value = _LOGINS[server]
    return {
        "name": name,
        "value": value,
        "url": f"http://{server.address}",
        "httpOnly": True,
        "sameSite": "Strict",
    }


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a page in a browser profile of its own: `visit(server, "/new")`; options are those of `Browser.new_context`.

    `context=page.context` opens it in the same profile as another page, `forgiven=[…]` expects faults, and `origin` is the
    only place that it may load from (that of the server). The browser is signed in as the owner of the server's home, unless it
    `is_nobody`.
    """
    watches: list[Watch] = []
    with ExitStack() as stack:

        def open_page(
            server: Server,
            path: str = "/",
            *,
            context: BrowserContext | None = None,
            forgiven: Sequence[str] = (),
            is_nobody: bool = False,
            origin: str = "",
            **options: Any,
        ) -> Page:
            served = f"http://{server.address}"
            watch = Watch(origin or served, forgiven)
            watches.append(watch)
            if context is None:
                context = browser.new_context(**{"locale": "en-US", "base_url": served, **options})
                context.set_default_timeout(PATIENCE)
                if not is_nobody:
                    context.add_cookies([sign_in(server)])
                context.add_init_script(TELL_VIOLATIONS)
                stack.callback(context.close)
            page = context.new_page()
            page.on("console", watch.hear_console)
            page.on("pageerror", watch.see_exception)
            page.on("request", watch.see_request)
            page.goto(f"{served}{path}" if path.startswith("/") else path)
            return page

        yield open_page
    assert [fault for watch in watches for fault in watch.faults] == []
