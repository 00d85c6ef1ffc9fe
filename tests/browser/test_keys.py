"""W-10: a key is never lost: not before the script has come, not before a view is there, not before an input has the focus."""

import pytest
from playwright.sync_api import Page, Request, Route, expect
from tests.acceptance.server import Server
from tests.browser.pages import Visit

PRESS_AT_ONCE = """(keys) => {
  for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}"""
"""Several keys in one task, before anything can be rendered between them."""


class HeldRequests:
    """Holds back what a page asks for, until it is released."""

    def __init__(self, page: Page, pattern: str, body: str = "") -> None:
        self._held: list[Route] = []
        self._body = body
        self._is_held = True
        page.route(pattern, self._hold)

    def _hold(self, route: Route, request: Request) -> None:
        if self._is_held and self._body in (request.post_data or ""):
            self._held.append(route)
        else:
            route.continue_()

    @property
    def count(self) -> int:
        return len(self._held)

    def release(self) -> None:
        self._is_held = False
        for route in self._held:
            route.continue_()


def open_held(page: Page, path: str) -> HeldRequests:
    """Open a path whose script has not come yet; keys are kept by now."""
    held = HeldRequests(page, "**/page/app.js*")
    page.goto(path, wait_until="commit")
    # Not `wait_for_function`: where it has to look twice, it evaluates a string in the page, which the page's policy forbids.
    while not page.evaluate("() => window.takeEarlyKeys !== undefined"):
        page.wait_for_timeout(20)
    assert page.locator("#app").inner_text() == ""
    return held


@pytest.mark.parametrize("path", ["/", "/decisions", "/s/{session}"])
def test_what_is_typed_before_the_script_has_come_is_searched_for(
    server: Server, visit: Visit, path: str
) -> None:
    session = server.local.held()
    page = visit(server, "about:blank")
    held = open_held(page, path.format(session=session))
    page.keyboard.type("/two wordx")
    page.keyboard.press("Backspace")
    page.keyboard.type("s i/j?")
    held.release()
    expect(page.get_by_role("searchbox")).to_have_value("two words i/j?")
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.type(" and more")
    expect(page.get_by_role("searchbox")).to_have_value("two words i/j? and more")


def test_keys_that_move_wait_for_the_script_too(server: Server, visit: Visit) -> None:
    session = server.local.held()
    head = server.local("moot.getView", sessionId=session)["head"]
    page = visit(server, "about:blank")
    held = open_held(page, f"/s/{session}")
    page.keyboard.press("ArrowLeft")
    held.release()
    expect(page.locator(".scrubber .place")).to_contain_text(f"entry {head - 1} of {head}")


def test_help_opens_before_any_view_is_there(server: Server, visit: Visit) -> None:
    page = visit(server, "about:blank")
    held = open_held(page, "/trust")
    page.keyboard.press("j")
    page.keyboard.press("?")
    held.release()
    expect(page.locator("dialog")).to_be_visible()


def test_keys_wait_for_a_session_that_is_still_loading(server: Server, visit: Visit) -> None:
    session = server.local.held()
    page = visit(server, "about:blank")
    held = HeldRequests(page, "**/rpc", "moot.getView")
    page.goto(f"/s/{session}")
    expect(page.locator("html.app")).to_be_attached()
    expect(page.locator(".timeline")).to_have_count(0)
    page.keyboard.type("/needle")
    assert held.count
    held.release()
    expect(page.get_by_role("searchbox")).to_have_value("needle")


def test_what_follows_a_key_in_the_same_moment_is_text(server: Server, visit: Visit) -> None:
    session = server.local.held()
    page = visit(server, f"/s/{session}")
    expect(page.locator(".timeline")).to_be_visible()
    page.evaluate(PRESS_AT_ONCE, [*"/jki?"])
    expect(page.get_by_role("searchbox")).to_have_value("jki?")
    assert "entry=" not in page.url


def test_a_key_does_not_wait_for_a_view_that_is_opened_by_a_click(
    server: Server, visit: Visit
) -> None:
    server.local.held()
    page = visit(server, "/trust")
    page.keyboard.type("/needle")
    page.get_by_role("link", name="Decisions").click()
    search = page.get_by_role("searchbox")
    expect(search).to_be_visible()
    expect(search).to_have_value("")
    expect(search).not_to_be_focused()
