"""What a reader of a long meeting waits for, in a real Chromium.

The machine may be busy with other things, so that next to the times stands the CPU time of the page's main thread, and of the server.
"""
# ruff: noqa: E501  # scripts and markup for the browser

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from checks.install_browser import REMEDY, find_browser
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from bench.web.viewers import Served

VIEWPORT: ViewportSize = {"width": 1400, "height": 900}

# The moment when words of an entry first stand in the page.
WATCH = """
new MutationObserver(() => {
  if (window.mootFirst === undefined && document.querySelector(".timeline .quote p")) requestAnimationFrame(() => (window.mootFirst ??= performance.now()));
  if (window.mootFirst) for (const mark of document.querySelector('.items > ol:last-of-type')?.textContent.match(/bench-mark-\\d+/g) ?? []) (window.mootMarks ??= {})[mark] ??= Date.now();
}).observe(document, { childList: true, subtree: true });
"""
AT_END = "() => { const at = document.querySelector('.timeline'); return at.scrollTop + at.clientHeight >= at.scrollHeight - 2; }"
# Playwright's own wait evaluates text in the page, which its policy forbids.
AWAIT = "() => new Promise((done) => {{ const look = () => ({0}) ? done({0}) : setTimeout(look, 5); look(); }})"


@contextmanager
def open_browser() -> Iterator[Browser]:
    program = find_browser()
    assert program is not None, REMEDY
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, served: Served, session: str) -> Iterator[Page]:
    context = browser.new_context(viewport=VIEWPORT)
    context.add_init_script(WATCH)
    signed = context.request.post(f"http://{served.address}/login", data={"token": served.key})
    assert signed.ok, signed.text()
    page = context.new_page()
    page.goto(f"http://{served.address}/s/{session}")
    page.evaluate(AWAIT.format("window.mootFirst"))
    yield page
    context.close()


@dataclass(frozen=True, slots=True)
class Scrolling:
    """The longest task while scrolling, in milliseconds of CPU time and of time, and how many entries were passed."""

    cpu_ms: float
    longest_ms: float
    entries: int


@dataclass(frozen=True, slots=True)
class FirstView:
    """Milliseconds from the request to words on the screen, and of CPU in the page's main thread and in the server until then."""

    waited: float
    page_cpu: float
    server_cpu: float


def measure_wire(browser: Browser, served: Served, session: str) -> int:
    """The bytes on the wire, headers included, until words of a session stand on the screen of a browser that has nothing yet."""
    context = browser.new_context(viewport=VIEWPORT)
    context.add_init_script(WATCH)
    assert context.request.post(f"http://{served.address}/login", data={"token": served.key}).ok
    page = context.new_page()
    received: list[int] = []
    network = context.new_cdp_session(page)
    network.on(
        "Network.loadingFinished", lambda event: received.append(int(event["encodedDataLength"]))
    )
    network.send("Network.enable")
    page.goto(f"http://{served.address}/s/{session}")
    page.evaluate(AWAIT.format("window.mootFirst"))
    network.detach()
    context.close()
    return sum(received)


def measure_first_view(browser: Browser, served: Served, session: str) -> FirstView:
    before = served.read_cpu()
    browser.start_tracing(categories=["toplevel"])
    with open_page(browser, served, session) as page:
        # At once: the page fetches the rest of the timeline from now on.
        spent = 1_000 * (served.read_cpu() - before)
        tasks = list_tasks(json.loads(browser.stop_tracing()))
        return FirstView(
            float(page.evaluate("window.mootFirst")), sum(cpu for cpu, _ in tasks), spent
        )


def measure_scrolling(browser: Browser, served: Served, session: str) -> Scrolling:
    """From the beginning of the timeline to its end by the wheel, as fast as somebody who looks for something."""
    with open_page(browser, served, session) as page:
        page.wait_for_timeout(1_500)
        page.evaluate("() => { document.querySelector('.timeline').scrollTop = 0; }")
        page.wait_for_timeout(1_000)
        browser.start_tracing(page=page, categories=["toplevel"])
        # Over the timeline: a wheel turns what is under the mouse.
        page.locator(".timeline").hover()
        seen: set[str] = set()
        for _ in range(600):
            page.mouse.wheel(0, 1_500)
            page.wait_for_timeout(16)
            seen.update(
                page.evaluate(
                    "[...document.querySelectorAll('.item[data-entry]')].map((item) => item.dataset.entry)"
                )
            )
            if page.evaluate(AT_END):
                break
        tasks = list_tasks(json.loads(browser.stop_tracing()))
        return Scrolling(max(cpu for cpu, _ in tasks), max(took for _, took in tasks), len(seen))


def list_tasks(trace: dict[str, Any]) -> list[tuple[float, float]]:
    """What each task of the page's main thread took, in milliseconds: of CPU time, and of time."""
    events = trace["traceEvents"]
    main = {
        (each["pid"], each["tid"])
        for each in events
        if each["args"].get("name") == "CrRendererMain"
    }
    tasks = [
        each
        for each in events
        if each["name"].endswith("Impl::RunTask") and (each["pid"], each["tid"]) in main
    ]
    return [(each.get("tdur", 0) / 1_000, each.get("dur", 0) / 1_000) for each in tasks]


def measure_new_entries(browser: Browser, served: Served, session: str, times: int) -> list[float]:
    """Milliseconds from the moment when an answer is sent to the moment when it stands in the page."""
    found = []
    with open_page(browser, served, session) as page:
        page.wait_for_timeout(1_500)
        for number in range(times):
            mark = f"bench-mark-{time.time_ns()}"
            seat = served("moot.getView", sessionId=session, since=10**9)["waiting"][0]["seat"]
            sent = time.time() * 1_000
            served(
                "moot.answer",
                sessionId=session,
                seat=seat,
                answer=f"{mark} number {number}: I agree with the last speaker.",
            )
            found.append(float(page.evaluate(AWAIT.format(f"window.mootMarks?.['{mark}']"))) - sent)
            page.wait_for_timeout(150)
    return found
