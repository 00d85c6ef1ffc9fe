"""The line between the page and the server: many tabs of one browser, and every way in which a line dies."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page, expect
from tests.acceptance.server import STEPS, Server
from tests.browser.pages import Visit
from tests.browser.test_live import BROKEN, LOST, timeline

TABS = 8
"""More than the six connections that a browser allows to a host: with a stream each, the last would never load."""
WITHOUT_LOCKS = "Object.defineProperty(navigator, 'locks', { get: () => undefined })"
"""For an init script: a browser that reads a server of plain http on another machine."""
SHOWN = """is => {
  for (const [name, value] of [['hidden', !is], ['visibilityState', is ? 'visible' : 'hidden']])
    Object.defineProperty(document, name, { configurable: true, get: () => value });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def count_streams(server: Server) -> int:
    """How many streams a server has open."""
    lines = server.local.get("/metrics").body.decode().splitlines()
    return int(float(next(line for line in lines if line.startswith("moot_watchers")).split()[-1]))


def wait_for_streams(server: Server, count: int) -> None:
    """The server gives up a line that a browser has closed, or opened anew for other meetings, when it next writes to it."""
    ends = time.monotonic() + 60
    while count_streams(server) != count:
        assert time.monotonic() < ends, count_streams(server)
        time.sleep(0.1)


def visit_by_own_clock(visit: Visit, server: Server, session: str, **options: Any) -> Page:
    """A page at a session whose clock, and that of all tabs of its browser, a test can put forward."""
    page = visit(server, "/login", **options)
    page.context.clock.install()
    page.goto(f"http://{server.address}/s/{session}")
    return page


def read_state(page: Page) -> str:
    return page.locator(".state-word").inner_text()


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """A line on which nothing comes and nothing ends: its other side is there, and asleep."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def test_many_tabs_share_one_stream_and_the_one_that_reads_it_may_be_closed(
    own_server: Server, visit: Visit
) -> None:
    """W-9: a browser allows six connections to a host; every tab sees its own meeting live, whichever tab was closed."""
    server = own_server
    sessions = [server.local.opened(topic=f"Question {number}?") for number in range(TABS // 2)]
    first = visit(server, f"/s/{sessions[0]}")
    tabs = [
        first,
        *(
            visit(server, f"/s/{sessions[n % len(sessions)]}", context=first.context)
            for n in range(1, TABS)
        ),
    ]
    for tab in tabs:
        expect(tab.locator(".state-word")).to_have_text("waiting")
    wait_for_streams(server, 1)
    for session in sessions:
        server.local("moot.giveInput", sessionId=session, text=f"Heard in {session}.")
    for number, tab in enumerate(tabs):
        expect(timeline(tab)).to_contain_text(f"Heard in {sessions[number % len(sessions)]}.")
    # Those that go home, and the one that reads the stream, take nothing from the others.
    first.goto(f"http://{server.address}/decisions")
    expect(first.get_by_role("heading", level=1)).to_be_visible()
    for tab in tabs[: TABS // 2]:
        tab.close()
    for session in sessions:
        server.local("moot.giveInput", sessionId=session, text=f"Heard again in {session}.")
    for number, tab in enumerate(tabs[TABS // 2 :], TABS // 2):
        expect(timeline(tab)).to_contain_text(f"Heard again in {sessions[number % len(sessions)]}.")
    wait_for_streams(server, 1)


def test_live_is_not_said_of_a_line_on_which_nothing_comes(
    own_server: Server, visit: Visit
) -> None:
    """W-9, W-2: a server that is asleep, or a network that swallows everything, is told within half a minute; nothing is lost."""
    server = own_server
    session = server.local.opened()
    one = visit_by_own_clock(visit, server, session, forgiven=BROKEN)
    two = visit(server, f"/s/{session}", context=one.context, forgiven=BROKEN)
    for page in (one, two):
        expect(page.locator(".state-word")).to_have_text("waiting")
    with stopped(server):
        one.clock.fast_forward(30_000)
        for page in (one, two):
            expect(page.locator(".state-word")).to_have_text("offline", timeout=20_000)
            expect(page.get_by_text(LOST)).to_be_visible()
        # It stays true however long it lasts.
        for _ in range(3):
            one.clock.fast_forward(15_000)
            assert [read_state(page) for page in (one, two)] == ["offline", "offline"]
    seat, words = STEPS[0]
    server.local("cstp.contribute", deliberationId=session, participant=seat, **words)
    for page in (one, two):
        expect(page.locator(".state-word")).to_have_text("waiting", timeout=30_000)
        expect(
            page.get_by_role("list", name="Seats").get_by_role("link", name="minski")
        ).to_contain_text("is asked")


def test_a_tab_in_front_reads_the_stream_itself_when_the_one_that_did_sleeps(
    own_server: Server, visit: Visit
) -> None:
    """W-9: a browser puts tabs in the background to sleep, and with one of them the stream of all."""
    server = own_server
    session = server.local.opened()
    leader = visit_by_own_clock(visit, server, session)
    expect(leader.locator(".state-word")).to_have_text("waiting")
    page = visit(server, f"/s/{session}", context=leader.context)
    expect(page.locator(".state-word")).to_have_text("waiting")
    # The tab that reads hears nothing and says nothing any more.
    leader.evaluate("BroadcastChannel.prototype.postMessage = () => undefined")
    leader.evaluate("EventSource.prototype.close = () => undefined")
    server.local("moot.giveInput", sessionId=session, text="Said while the other slept.")
    page.clock.fast_forward(30_000)
    expect(timeline(page)).to_contain_text("Said while the other slept.")
    expect(page.locator(".state-word")).to_have_text("waiting")


def test_without_locks_a_hidden_tab_gives_its_line_back_and_catches_up(
    own_server: Server, visit: Visit
) -> None:
    """W-9: each tab has a line of its own there, which the browser's event for a lost network renews as well."""
    server = own_server
    session = server.local.opened()
    page = visit_by_own_clock(visit, server, session, forgiven=BROKEN)
    page.context.add_init_script(WITHOUT_LOCKS)
    page.reload()
    expect(page.locator(".state-word")).to_have_text("waiting")
    page.evaluate(SHOWN, False)
    page.clock.fast_forward(12_000)
    wait_for_streams(server, 0)
    server.local("moot.giveInput", sessionId=session, text="Said behind its back.")
    assert "behind its back" not in timeline(page).inner_text()
    page.evaluate(SHOWN, True)
    expect(timeline(page)).to_contain_text("Said behind its back.")
    page.context.set_offline(True)
    expect(page.locator(".state-word")).to_have_text("offline", timeout=5_000)
    server.local("moot.giveInput", sessionId=session, text="Said while offline.")
    page.context.set_offline(False)
    expect(timeline(page)).to_contain_text("Said while offline.")
    expect(page.locator(".state-word")).to_have_text("waiting")
