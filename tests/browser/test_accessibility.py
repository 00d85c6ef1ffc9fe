"""W-10: light and dark, phone to wide screen, the keyboard alone, screen readers, Chinese and English."""
# ruff: noqa: E501  # scripts and markup for the browser

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pytest
from checks.page_build import WEB, install_packages
from playwright.sync_api import Locator, Page, expect
from tests.acceptance.doors import Cli
from tests.acceptance.server import Server
from tests.browser.looking import PHONE, WIDE, check_width, read_timeline, visit_lenses, wait_until_shown
from tests.browser.meetings import PROTOCOLS, SEATS, fill_memory, record_demos
from tests.browser.pages import Visit

from moot.domain.facts import Language

LOCALES: Mapping[Language, str] = {"en": "en-US", "zh": "zh-CN"}
PLACES = ("/", "/new", "/decisions", "/obligations", "/trust", "/trust/ada", "/breakers", "/login", "DECISION", "WAITING", "SEAT")
HAN = re.compile(r"[一-鿿]")
ENGLISH = re.compile(r"[A-Za-z]{3,}(?:[ ,:]+[A-Za-z]{2,})+")
"""Two English words in a row: a name such as PostgreSQL stays what it is in both languages."""
RUN_AXE = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations
    .filter((each) => each.impact === "serious" || each.impact === "critical")
    .map((each) => `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
}"""
OWN_WORDS = """() => {
  // What participants wrote stays in their language; so do names, ids and addresses.
  const theirs = ".quote, .line-topic, .topic, .question, .choice, code, pre, kbd, [lang], .who, .seats, .about, select, .id";
  const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(theirs)) found.push(walker.currentNode.data.trim());
  for (const each of document.querySelectorAll("#app [aria-label], #app [title], #app [placeholder]"))
    if (!each.closest(theirs)) found.push(each.ariaLabel ?? "", each.title, each.placeholder ?? "");
  return found.filter(Boolean);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core, which the page's lock file names."""
    install_packages()
    return (WEB / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[Language, Server]]:
    """A server for each language: the demos, decisions with reviews and obligations, one meeting that waits for a person."""
    languages: tuple[Language, ...] = ("en", "zh")
    found: dict[Language, Server] = {}
    for language in languages:
        folder = tmp_path_factory.mktemp(language)
        record_demos(folder / "home", languages=(language,))
        found[language] = Server(Cli(folder / "home", folder))
        fill_memory(found[language].local, language)
    yield found
    for server in found.values():
        server.kill()


def name_paths(server: Server, language: Language) -> list[str]:
    """The places of the page, with what is there on this server."""
    client = server.local
    waiting = client.opened(
        topic={"en": "Who waters the plants?", "zh": "谁来浇花？"}[language], participants=list(SEATS), language=language
    )
    known = {
        "DECISION": f"/decisions/{client('cstp.listDecisions')['decisions'][0]['decisionId']}",
        "WAITING": f"/s/{waiting}",
        "SEAT": f"/seat/{waiting}/ada",
    }
    return [known.get(place, place) for place in PLACES]


def check_axe(page: Page, axe: str, where: str) -> None:
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(axe)
    assert page.evaluate(RUN_AXE) == [], where


@pytest.mark.parametrize(("language", "theme"), [("en", "dark"), ("zh", "light")])
def test_axe_finds_no_serious_fault_in_the_views(
    sites: Mapping[Language, Server], visit: Visit, axe: str, language: Language, theme: Literal["light", "dark"]
) -> None:
    """W-10: every view but those of a session's protocol; and none has a scrollbar at its foot on a phone."""
    server = sites[language]
    for path in name_paths(server, language):
        page = visit(server, path, viewport=WIDE, color_scheme=theme, locale=LOCALES[language])
        wait_until_shown(page)
        check_axe(page, axe, f"{path} {theme}")
        page.set_viewport_size(PHONE)
        check_width(page, path)
        check_axe(page, axe, f"{path} {theme} on a phone")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        check_axe(page, axe, f"help over {path}")
        page.context.close()


@pytest.mark.parametrize(("name", "language"), [(name, ("en", "zh")[at % 2]) for at, name in enumerate(PROTOCOLS)])
def test_axe_finds_no_serious_fault_in_a_session(
    sites: Mapping[Language, Server], visit: Visit, axe: str, name: str, language: Language
) -> None:
    """W-10: every lens of every protocol, light in English, dark in Chinese; on a phone nothing sticks out."""
    theme = "light" if language == "en" else "dark"
    page = visit(sites[language], f"/s/{name}_{language}", viewport=WIDE, color_scheme=theme, locale=LOCALES[language])
    wait_until_shown(page)
    read_timeline(page)
    for address in visit_lenses(page):
        check_axe(page, axe, address)
        check_width(page, address)
        page.set_viewport_size(PHONE)
        check_width(page, f"{address} on a phone")
        page.set_viewport_size(WIDE)
    page.locator(".seats .seat").first.click()
    check_axe(page, axe, "a seat")
    page.locator(".timeline .number").first.click()
    check_axe(page, axe, "an entry")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_speaks_one_language(sites: Mapping[Language, Server], visit: Visit, language: Language) -> None:
    """W-10: labels, tooltips and titles of every view and lens are in the language of the reader."""
    server, foreign = sites[language], HAN if language == "en" else ENGLISH
    page = visit(server, "/", viewport=WIDE, locale=LOCALES[language])
    for path in name_paths(server, language):
        page.goto(f"http://{server.address}{path}")
        wait_until_shown(page)
        assert [text for text in page.evaluate(OWN_WORDS) if foreign.search(text)] == [], path
    for name in PROTOCOLS:
        page.goto(f"http://{server.address}/s/{name}_{language}")
        wait_until_shown(page)
        for address in visit_lenses(page):
            assert [text for text in page.evaluate(OWN_WORDS) if foreign.search(text)] == [], address
    assert page.evaluate("document.documentElement.lang") == {"en": "en", "zh": "zh-CN"}[language]


def focused(page: Page) -> str:
    return str(
        page.evaluate("document.activeElement === document.body ? '' : document.activeElement?.outerHTML.slice(0, 120) ?? ''")
    )


def press_until(page: Page, key: str, wanted: Locator, most: int = 60) -> None:
    """Press a key until the wanted element has the focus, which can be seen all the way."""
    for _ in range(most):
        page.keyboard.press(key)
        assert focused(page), f"after {key} nothing has the focus"
        assert page.evaluate(
            "() => { const style = getComputedStyle(document.activeElement); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1; }"
        ), f"the focus cannot be seen: {focused(page)}"
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{key} does not lead there")


def test_the_whole_story_goes_by_keyboard_alone(sites: Mapping[Language, Server], visit: Visit) -> None:
    """W-10: home, session, entry, lens, slider, a word to the meeting, back; j k ← → / i ? Esc; the focus is seen and never lost."""
    server = sites["en"]
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


def test_a_dialog_keeps_the_focus_and_gives_it_back(sites: Mapping[Language, Server], visit: Visit) -> None:
    """W-10: the invitation, opened and closed by keys."""
    server = sites["en"]
    page = visit(server, f"/s/{server.local.opened(topic='Who comes?', participants=list(SEATS))}", viewport=WIDE)
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


def test_nothing_moves_for_who_wants_no_motion(sites: Mapping[Language, Server], visit: Visit) -> None:
    """W-10: `prefers-reduced-motion`; without it bars grow."""
    moving: dict[str, Any] = {}
    for wish in ("no-preference", "reduce"):
        page = visit(sites["en"], "/s/persona_en", viewport=PHONE, reduced_motion=wish)
        wait_until_shown(page)
        page.locator(".grip").click()
        moving[wish] = page.evaluate(MOVING)
    assert moving["no-preference"] > 0
    assert moving["reduce"] == 0
