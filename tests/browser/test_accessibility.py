"""W-10: light and dark, phone to wide screen, the keyboard alone, screen readers, Chinese and English."""
# ruff: noqa: E501  # scripts and markup for the browser

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from checks.page_build import WEB, install_packages
from playwright.sync_api import Locator, Page, expect
from tests.acceptance.doors import until
from tests.acceptance.server import Server
from tests.browser.looking import (
    PHONE,
    SMALL,
    WIDE,
    ZOOMED,
    check_width,
    open_view,
    read_timeline,
    visit_figures,
    visit_lenses,
    wait_until_shown,
)
from tests.browser.meetings import PROTOCOLS, SEATS, Shown, hold_review
from tests.browser.pages import Visit

from moothall.domain.facts import Language

Theme = Literal["light", "dark"]
LOCALES: Mapping[Language, str] = {"en": "en-US", "zh": "zh-CN"}
PLACES = (
    "/",
    "/new",
    "/decisions",
    "/obligations",
    "/trust",
    "/trust/ada",
    "/breakers",
    "/settings",
    "/login",
    "DECISION",
    "WAITING",
    "SEAT",
)
HAN = re.compile(r"[一-鿿]")
ENGLISH = re.compile(r"[A-Za-z]{3,}(?:[,:]? +[A-Za-z]{2,})+")
"""Two English words in a row: a name such as PostgreSQL stays what it is in both languages."""
RUN_AXE = """async ([within, rules]) => {
  const found = await axe.run(within, { resultTypes: ["violations"], preload: false, ...(rules && { runOnly: rules }) });
  return found.violations
    .filter((each) => each.impact === "serious" || each.impact === "critical")
    .map((each) => `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
}"""
OWN_WORDS = """(within) => {
  // What participants wrote stays in their language; so do names, ids and addresses.
  const theirs = ".quote, .line-topic, .topic, .question, .choice, code, pre, kbd, #app [lang], .who, .seats, .about, select, .id";
  const app = within === "html" ? document.getElementById("app") : document.querySelector(within);
  const walker = document.createTreeWalker(app, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(theirs)) found.push(walker.currentNode.data.trim());
  for (const each of app.querySelectorAll("[aria-label], [title], [placeholder]"))
    if (!each.closest(theirs)) found.push(each.ariaLabel ?? "", each.title, each.placeholder ?? "");
  return found.filter(Boolean);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core, which the page's lock file names."""
    install_packages()
    return (WEB / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


def name_paths(server: Server, language: Language) -> list[str]:
    """The places of the page, with what is there on this server."""
    client = server.local
    waiting = client.opened(
        topic={"en": "Who waters the plants?", "zh": "谁来浇花？"}[language],
        participants=list(SEATS),
        language=language,
    )
    known = {
        "DECISION": f"/decisions/{client('cstp.listDecisions')['decisions'][0]['decisionId']}",
        "WAITING": f"/s/{waiting}",
        "SEAT": f"/seat/{waiting}/ada",
    }
    return [known.get(place, place) for place in PLACES]


@dataclass(frozen=True, slots=True)
class Checker:
    """Looks at a page as axe and as a reader of its language do."""

    page: Page
    axe: str
    language: Language
    themes: list[Theme] = field(default_factory=lambda: ["light", "dark"])
    """The one that is shown, and the other."""
    lenses: set[str] = field(default_factory=set)
    """Those that were looked at in a session before: every protocol draws them with the same parts."""

    def check(self, where: str, within: str = "html") -> None:
        """No serious fault in either theme, and no word of another language."""
        if not self.page.evaluate("typeof axe === 'object'"):
            self.page.evaluate(self.axe)
        assert self.page.evaluate(RUN_AXE, [within, None]) == [], (where, self.themes[0])
        # The themes differ in nothing but colours: the second is looked at for these alone, and stays for the next view.
        self.themes.reverse()
        self.page.emulate_media(color_scheme=self.themes[0])
        assert self.page.evaluate(RUN_AXE, [within, ["color-contrast"]]) == [], (
            where,
            self.themes[0],
        )
        foreign = HAN if self.language == "en" else ENGLISH
        names = re.compile("|".join(SEATS))
        assert [
            text
            for text in self.page.evaluate(OWN_WORDS, within)
            if foreign.search(names.sub("", text))
        ] == [], where

    def check_narrow(self, where: str) -> None:
        """No scrollbar at the foot of a narrow page, and nothing sticks out of it: a phone, and a screen at 200 %."""
        # English words are the longer ones.
        for size in (SMALL, ZOOMED) if self.language == "en" else (PHONE,):
            self.page.set_viewport_size(size)
            check_width(self.page, f"{where} at {size['width']} px")
        self.page.set_viewport_size(WIDE)


@pytest.mark.parametrize("language", LOCALES)
def test_no_view_has_a_serious_fault(
    shown: Shown, visit: Visit, axe: str, language: Language
) -> None:
    """W-10: every view in both themes and languages, every protocol in both themes; its lenses, a seat, an entry and a figure.

    None has a serious fault by axe or a word of the other language, and on a phone nothing sticks out of any.
    """
    server = shown(language)
    page = visit(
        server, "about:blank", viewport=WIDE, locale=LOCALES[language], reduced_motion="reduce"
    )
    checker = Checker(page, axe, language)
    for path in name_paths(server, language):
        open_view(page, path)
        checker.check(path)
        checker.check_narrow(path)
    # The last view is a seat's, whose panel comes up from below.
    page.set_viewport_size(PHONE)
    page.locator(".grip").click()
    checker.check("a seat on a phone")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    checker.check("help")
    page.keyboard.press("Escape")
    assert (
        page.evaluate("document.documentElement.lang") == {"en": "en-GB", "zh": "zh-CN"}[language]
    )
    sessions = [
        f"{name}_{language}" for name in PROTOCOLS[list(LOCALES).index(language) :: len(LOCALES)]
    ]
    # Beside the word for the verdict of a review stands what gates name, in English.
    for session in (*sessions, *([hold_review(server.local)] if language == "en" else [])):
        check_session(checker, f"/s/{session}")


def check_session(checker: Checker, path: str) -> None:
    page = checker.page
    page.set_viewport_size(WIDE)
    open_view(page, path)
    read_timeline(page)
    checker.check(path)
    checker.check_narrow(path)
    for address in visit_lenses(page):
        lens = address.partition("?")[2]
        if not lens or lens not in checker.lenses:
            checker.check(address, ".panel")
        checker.lenses.add(lens)
    page.locator(".seats .seat").first.click()
    checker.check(f"{path}: a seat", ".panel")
    # A consultation is one call: its timeline has no numbered entries.
    if page.locator(".timeline .number").count():
        page.locator(".timeline .number").first.click()
        checker.check(f"{path}: an entry", ".panel")
    for figure in visit_figures(page):
        checker.check(f"{path}: {figure}", ".how")
        break
    page.set_viewport_size(PHONE)
    for address in visit_lenses(page):
        check_width(page, f"{address} on a phone")


def focused(page: Page) -> str:
    return str(
        page.evaluate(
            "document.activeElement === document.body ? '' : document.activeElement?.outerHTML.slice(0, 120) ?? ''"
        )
    )


READ_FOCUS = """element => {
  const active = document.activeElement, style = getComputedStyle(active);
  return {
    at: active === document.body ? "" : active.outerHTML.slice(0, 120),
    isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    isThere: active === element,
  };
}"""


def press_until(page: Page, key: str, wanted: Locator, most: int = 60) -> None:
    """Press a key until the wanted element has the focus, which can be seen all the way."""
    # What is asked first has the focus already.
    if wanted.evaluate("element => element === document.activeElement"):
        return
    for _ in range(most):
        page.keyboard.press(key)
        found = wanted.evaluate(READ_FOCUS)
        assert found["at"], f"after {key} nothing has the focus"
        assert found["isSeen"], f"the focus cannot be seen: {found['at']}"
        if found["isThere"]:
            return
    raise AssertionError(f"{key} does not lead there")


def test_the_whole_story_goes_by_keyboard_alone(shown: Shown, visit: Visit) -> None:
    """W-10: home, session, entry, lens, slider, a word to the meeting, back; j k ← → / i ? Esc; the focus is seen and never lost."""
    server = shown("en")
    session = server.local.opened(topic="Keys only?", participants=list(SEATS))
    for number in range(4):
        server.local("moot.giveInput", sessionId=session, text=f"word {number}")
    page = visit(server, "/", viewport=WIDE)
    wait_until_shown(page)
    press_until(page, "Tab", page.locator("a.session-line", has_text="Keys only?").first)
    page.keyboard.press("Enter")
    expect(page.locator(".timeline .item").first).to_be_visible()

    page.keyboard.press("j")
    expect(page.locator(".item.selected")).to_have_count(1)
    first = page.locator(".item.selected").get_attribute("data-entry")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator(".item.selected").get_attribute("data-entry") == str(int(first or 0) + 1)
    assert "data-entry" in focused(page)
    assert "entry=" in page.url
    page.keyboard.press("Escape")
    expect(page.locator(".item.selected")).to_have_count(0)

    press_until(page, "Tab", page.locator(".tabs a", has_text="About"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="About this session")).to_be_visible()
    assert focused(page)

    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".scrubber")).to_contain_text("of")
    at = int(re.findall(r"at=(\d+)", page.url)[0])
    page.keyboard.press("ArrowRight")
    assert int(re.findall(r"at=(\d+)", page.url)[0]) == at + 1
    page.keyboard.press("ArrowRight")
    expect(page.locator(".scrubber .place")).to_contain_text("entries")

    page.keyboard.press("/")
    expect(page.locator(".find input")).to_be_focused()
    page.keyboard.type("word 2")
    expect(page.locator(".timeline [role=status]")).to_contain_text("1 of")
    page.keyboard.press("Escape")
    expect(page.locator(".find")).to_have_count(0)
    assert focused(page), "the search took the focus with it"

    page.keyboard.press("i")
    expect(page.locator("#say")).to_be_focused()
    page.keyboard.type("by keys? yes/no: i j k")
    assert page.locator("#say").input_value() == "by keys? yes/no: i j k"
    page.keyboard.press("Control+Enter")
    expect(page.locator(".timeline")).to_contain_text("by keys? yes/no")
    # Sent: what the focus goes to next is not about to be switched off.
    expect(page.locator("#say")).to_have_value("")

    page.keyboard.press("Tab")
    before = focused(page)
    page.keyboard.press("?")
    dialog = page.locator("dialog")
    expect(dialog).to_be_visible()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert focused(page) == before

    press_until(page, "Shift+Tab", page.locator("a.brand"))
    page.keyboard.press("Enter")
    expect(page.locator("a.session-line").first).to_be_visible()


def test_a_session_is_started_sat_in_and_reviewed_by_keyboard_alone(
    shown: Shown, visit: Visit
) -> None:
    """W-10: the form of a new session, a seat from the proposal to the vote, an outcome, an obligation."""
    server = shown("en")
    page = visit(server, "/new", viewport=WIDE)
    wait_until_shown(page)

    def enter(wanted: Locator, text: str) -> None:
        wanted.wait_for()
        press_until(page, "Tab", wanted)
        page.keyboard.press("Control+a")
        page.keyboard.type(text)

    def act(wanted: Locator, key: str = "Enter") -> None:
        press_until(page, "Tab", wanted)
        page.keyboard.press(key)

    def confirm() -> None:
        # What was understood has the focus: Enter sends it.
        expect(page.get_by_role("button", name="Yes, send it")).to_be_focused()
        page.keyboard.press("Enter")

    enter(page.get_by_role("textbox", name="The question", exact=True), "Do we plant a tree?")
    chosen, debate = (
        page.locator("input[name=protocol]:checked"),
        page.get_by_role("radio", name=re.compile("^Structured debate")),
    )
    press_until(page, "Tab", chosen)
    for _ in range(12):
        if debate.is_checked():
            break
        page.keyboard.press("ArrowDown")
    expect(debate).to_be_checked()
    own = page.get_by_role("radio", name="Seats of my own")
    press_until(page, "Tab", page.locator("input[name=panel]:checked"))
    for _ in range(12):
        if own.is_checked():
            break
        page.keyboard.press("ArrowDown")
    for number, seat in enumerate(("ada", "bob"), start=1):
        group = page.get_by_role("group", name=f"Seat {number}")
        enter(group.get_by_label("Name"), seat)
        enter(group.get_by_label("Participant"), "mailbox")
    act(page.get_by_role("button", name="Start the session"))
    page.wait_for_url("**/s/*")
    session = page.url.rpartition("/")[2]

    page.goto(f"/seat/{session}/ada")
    form = page.locator("form.ask")
    sends = form.get_by_role("button", name="Send the answer")
    enter(form.get_by_label("What do you propose"), "An oak.")
    enter(form.get_by_label("Your answer in one to five words"), "oak")
    act(sends)
    expect(page.get_by_text("Recorded.")).to_be_visible()
    # The form has a third seat: that of whoever opens the session.
    for seat in ("bob", "me"):
        server.local.say(session, seat, "propose", text="A lime tree.", choice="lime")
    form.get_by_role("radio").first.wait_for()
    press_until(page, "Tab", form.locator("input[type=radio]").first)
    page.keyboard.press("Space")
    enter(form.get_by_label("What do you say?"), "Oaks grow old.")
    act(sends)
    confirm()
    for seat in ("bob", "me"):
        server.local.say(session, seat, "pass")
    enter(form.get_by_label("Write the resolution"), "Plant an oak.")
    act(sends)
    for seat in ("bob", "me"):
        server.local.say(session, seat, "pass")
    form.get_by_role("radio", name=re.compile("^oppose", re.IGNORECASE)).wait_for()
    press_until(page, "Tab", form.locator("input[type=radio]").first)
    page.keyboard.press("Space")
    act(sends)
    confirm()
    for seat in ("bob", "me"):
        server.local.vote(session, seat)
    expect(page.get_by_text("The session is over.")).to_be_visible()
    votes = [each for each in server.local.read(session)["contributions"] if each["type"] == "vote"]
    assert {each["participant"] for each in votes} == {"ada", "bob", "me"}

    decided = server.local.held(topic="Do we water it?", stakes="medium")
    page.goto(f"/decisions/{decided}")
    turned_out = page.get_by_role("radio", name="turned out well")
    turned_out.wait_for()
    act(turned_out, "Space")
    act(page.get_by_role("button", name="Record the outcome"))
    until(lambda: server.local("cstp.getDecision", decisionId=decided)["reviews"])
    page.goto("/obligations")
    line = page.locator("[data-test=obligation]").filter(has_text="Do we water it?")
    enter(line.get_by_label("Note"), "Watered.")
    act(line.get_by_role("button", name="Met"))
    expect(page.get_by_role("region", name="Settled")).to_contain_text("Watered.")


def test_a_dialog_keeps_the_focus_and_gives_it_back(shown: Shown, visit: Visit) -> None:
    """W-10: the invitation, opened and closed by keys."""
    server = shown("en")
    page = visit(
        server,
        f"/s/{server.local.opened(topic='Who comes?', participants=list(SEATS))}",
        viewport=WIDE,
    )
    wait_until_shown(page)
    button = page.get_by_role("button", name="Invite")
    press_until(page, "Tab", button)
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_be_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)"
        )
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(button).to_be_focused()


MOVING = """() => [...document.querySelectorAll("#app *")].flatMap((each) => ["", "::before", "::after"].map((part) => getComputedStyle(each, part)))
  .filter((style) => (style.animationName !== "none" && parseFloat(style.animationDuration) > 0) || parseFloat(style.transitionDuration) > 0).length"""


def test_nothing_moves_for_who_wants_no_motion(shown: Shown, visit: Visit) -> None:
    """W-10: `prefers-reduced-motion`; without it bars grow."""
    moving: dict[str, Any] = {}
    for wish in ("no-preference", "reduce"):
        page = visit(shown("en"), "/s/persona_en", viewport=PHONE, reduced_motion=wish)
        wait_until_shown(page)
        page.locator(".grip").click()
        moving[wish] = page.evaluate(MOVING)
    assert moving["no-preference"] > 0
    assert moving["reduce"] == 0
