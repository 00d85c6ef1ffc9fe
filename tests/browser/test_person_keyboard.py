"""The whole story of a person's seat by keyboard alone, in every protocol, to the end (W-5, W-10)."""

import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.acceptance.server import Server
from tests.browser.meetings import CHANGE, TYPED, answer_by_call
from tests.browser.pages import Visit

SEATS = [{"id": name} for name in ("ada", "bob")]
PIPELINE = """
[pipeline]
task = "Name the new room."
[[agent]]
id = "ada"
[[agent]]
id = "bob"
[[step]]
name = "name"
agent = "bob"
task = "Name it."
[[step]]
name = "check"
agent = "ada"
task = "Is the name a good one?"
gate = true
uses = ["name"]
[[step]]
name = "sign"
agent = "ada"
task = "Write the sign."
uses = ["name"]
"""
STORIES: dict[str, dict[str, Any]] = {
    "debate": {"options": ["river", "hill"]},
    "advisory": {},
    "consensus": {},
    "persona": {"turns": 3},
    "roundtable": {"settings": {"max_rounds": 1}},
    "swarm": {"settings": {"max_rounds": 1}},
    "consultation": {},
    "review": {"files": [{"name": "change.diff", "text": CHANGE}]},
}
MAX_ANSWERS = 25
DEADLINE = 120.0


def choose_by_keyboard(page: Page) -> None:
    """Choose what has the focus where nothing is chosen yet; who sees that a busy browser has missed the key presses it again."""
    for _ in range(3):
        if page.evaluate(
            "document.querySelector(`[name='${document.activeElement.name}']:checked`) !== null"
        ):
            return
        page.keyboard.press("Space")


def answer_by_keyboard(page: Page, text: str) -> None:
    """Fill the form that has the focus and send it; no hand leaves the keyboard."""
    form = page.locator("form.ask")
    ask = form.get_attribute("data-ask")
    for _ in range(60):
        kind = page.evaluate("document.activeElement.type ?? document.activeElement.tagName")
        assert page.evaluate("document.activeElement.closest('form.ask') !== null"), kind
        if kind == "submit":
            break
        if kind == "radio":
            choose_by_keyboard(page)
        elif kind in {"text", "textarea"} and not page.evaluate(
            "document.activeElement.value || document.activeElement.inputMode === 'numeric'"
        ):
            page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    # What was understood is shown first; where there is nothing to understand, the words are sent.
    expect(
        page.locator(
            f"[data-test=confirm], form.ask:not([data-ask='{ask}']), .seat-title:focus"
        ).first
    ).to_be_visible()
    if page.locator("[data-test=confirm]").count():
        expect(page.get_by_role("button", name="Yes, send it")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator(f"form.ask[data-ask='{ask}']")).to_have_count(0)


@pytest.mark.parametrize("protocol", [*STORIES, "pipeline"])
def test_a_person_takes_part_to_the_end_by_keyboard(
    server: Server, visit: Visit, protocol: str
) -> None:
    """W-5, W-10: every question of every protocol is answered without a pointer, and the end is said."""
    local = server.local
    if protocol == "pipeline":
        session = local("moot.openPipeline", pipeline=PIPELINE)["sessionId"]
    else:
        session = local(
            "moot.openSession",
            topic="River or hill?",
            protocol=protocol,
            seats=SEATS,
            **STORIES[protocol],
        )["sessionId"]
    person = "bob" if protocol == "consultation" else "ada"
    typed = TYPED.get(protocol, {})
    page = visit(server, f"/seat/{session}/{person}")
    over, form = page.get_by_text("The session is over"), page.locator("form.ask[data-ask]")
    count, ends = 0, time.monotonic() + DEADLINE
    while not over.is_visible():
        assert time.monotonic() < ends, page.locator(".panel").inner_text()
        # The director files a consultation in code, and is nobody whom one could answer for.
        for seat in {
            each["seat"] for each in local("moot.getView", sessionId=session)["waiting"]
        } - {person, "@director"}:
            answer_by_call(local, session, seat, typed.get(seat, "The hill keeps its feet dry."))
        if form.is_visible():
            answer_by_keyboard(page, typed.get(person, "The river leaks?"))
            count += 1
        assert count < MAX_ANSWERS
        page.wait_for_timeout(50)
    assert count > 0
    assert local("moot.getSession", sessionId=session)["status"] == "concluded"
