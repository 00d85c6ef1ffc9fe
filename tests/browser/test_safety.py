"""W-8: nothing that participants write runs in the page, passes as the page's own, or breaks its layout."""
# ruff: noqa: E501  # scripts and markup for the browser

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Frame, Page, expect
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import Client, Server
from tests.browser.hostile import TEXTS, TRAP, Tainter, record_hostile, share, strange_seat_names
from tests.browser.looking import (
    PHONE,
    WIDE,
    check_width,
    open_view,
    read_timeline,
    visit_figures,
    visit_lenses,
    wait_until_shown,
)
from tests.browser.meetings import PROTOCOLS
from tests.browser.pages import HIDE, KEEP_NOTICES, Visit

from moothall.domain.safe_text import one_line

ANCHORS = (
    "<script>",
    "</script>",
    "<img src=x",
    "onerror=",
    "javascript:",
    "<iframe",
    "<style>",
    "<base",
    "<form",
    "<!--",
    "{{constructor",
)
"""What must be read as text somewhere, as it was written."""

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\u061c\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
INSPECT = """(within) => {
  const app = document.querySelector(within);
  const found = [];
  const add = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
  for (const each of app.querySelectorAll("script,style,iframe,frame,object,embed,base,meta,link,img,video,audio,math,template,portal")) add("element", each);
  for (const each of app.querySelectorAll("*")) {
    for (const { name, value } of each.attributes) {
      if (name.startsWith("on") || name === "srcdoc" || name === "formaction") add("attribute", each);
      if (/^(href|src|action)$/.test(name) && !/^(https?:|mailto:|[/#?]|$)/.test(value)) add("address", each);
      if (name === "href" && value.startsWith("//")) add("address", each);
    }
  }
  for (const each of app.querySelectorAll(".quote *")) {
    if (each.id || each.hasAttribute("style") || /^(button|input|form|select|textarea|svg|h\\d|details|summary)$/i.test(each.localName)) add("in a quote", each);
    if (each.localName === "a" && each.hasAttribute("href") && (each.target !== "_blank" || !each.rel.includes("noopener") || each.dataset.in !== undefined)) add("link", each);
  }
  const ids = [...document.querySelectorAll("#app [id]")].map((each) => each.id);
  if (new Set(ids).size !== ids.length) found.push(`ids: ${ids}`);
  return {
    found,
    trap: window.__moot_trap ?? 0,
    words: [document.title, app.innerText, ...[...app.querySelectorAll("[title],[aria-label],[placeholder]")].map((each) => `${each.title} ${each.ariaLabel ?? ""}`)].join("\\n"),
  };
}"""
CONTROLS = """selectors => selectors.filter((selector) => {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  return !box || box.width === 0 || box.height === 0 || box.top < -1 || box.left < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1;
})"""


LISTED = 8
"""Into how many sessions and decisions the texts are put that stand in lists."""


@dataclass(frozen=True, slots=True)
class HostileSite:
    """A server with meetings of every protocol in which all words are hostile, and what a caller can write over the wire."""

    server: Server
    tainter: Tainter
    decisions: list[str]
    waiting: list[str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostileSite]:
    folder = tmp_path_factory.mktemp("hostile")
    tainter = record_hostile(folder / "home", folder, PROTOCOLS)
    with Server(Cli(folder / "home", folder)) as found:
        # Sessions first: with decisions to compare them with, each would be read for what it means.
        waiting = fill_sessions(found.local)
        yield HostileSite(found, tainter, fill_decisions(found.local), waiting)


def fill_sessions(client: Client) -> list[str]:
    """The texts as questions, options, categories, tags and threads of sessions that wait for a person."""
    found = []
    for number in range(LISTED):
        texts = share(number, LISTED)
        labels = [one_line(text)[:90].strip() or "-" for text in texts]
        client("cstp.createThread", title="\n".join(texts)[:3_900], thread=f"t{number}")
        found.append(
            client.open(
                topic="\n\n".join(texts),
                category=labels[0],
                tags=labels,
                options=labels,
                participants=["ada", *strange_seat_names()[number % 3 * 2 :][:2]],
                thread=f"t{number}",
            )
        )
    return found


def fill_decisions(client: Client) -> list[str]:
    """The texts as decisions of one who decided alone, with their categories, outcomes and notes; those that hold many."""
    found = []
    for number, text in enumerate(TEXTS.values()):
        label = one_line(text)[:90].strip() or "-"
        words = "\n".join(share(number, LISTED)) if number < LISTED else f"{text} "
        recorded = client(
            "cstp.recordDecision",
            agent="ada",
            topic=words,
            decision=words,
            confidence=0.9,
            category=label,
            stakes="low",
        )
        found.append((str(recorded["decisionId"]), words))
    # All are recorded before the first is reviewed: who was wrong too often may not decide alone.
    for number, (decision, words) in enumerate(found):
        client(
            "cstp.reviewDecision",
            decisionId=decision,
            outcome="failure" if number % 2 else "success",
            note=words[:3_900],
        )
    for obligation in client("cstp.listObligations")["obligations"][::2]:
        client(
            "cstp.settleObligation",
            decisionId=obligation["decisionId"],
            number=obligation["number"],
            state="met",
            note=TEXTS["script"],
        )
    return [decision for decision, _ in found[:LISTED]]


def inspect(page: Page, where: str, within: str = "#app") -> str:
    """The words of the page, once nothing in it is or does what a participant made up."""
    found = page.evaluate(INSPECT, within)
    assert found["trap"] == 0, where
    assert found["found"] == [], where
    assert UNSAFE.search(found["words"]) is None, (where, UNSAFE.findall(found["words"])[:5])
    return str(found["words"])


def guard(page: Page, faults: list[str]) -> None:
    """Collect whatever a hostile text might make the page do to its reader."""

    def dismiss(dialog: Dialog) -> None:
        faults.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def see_frame(frame: Frame) -> None:
        if frame.parent_frame or "evil" in frame.url:
            faults.append(f"navigated {frame.url}")

    page.on("dialog", dismiss)
    page.on("popup", lambda popup: faults.append(f"window {popup.url}"))
    page.on("download", lambda download: faults.append(f"download {download.url}"))
    page.on("framenavigated", see_frame)


def look_through(page: Page, where: str) -> str:
    """Every entry and every lens of a session on a wide screen; all words that were shown.

    The page is looked at whole before and after; what is opened on the way fills its panel.
    """
    wait_until_shown(page)
    words = [read_timeline(page), inspect(page, where)]
    for address in visit_lenses(page):
        words.append(inspect(page, f"{where} {address}", ".panel"))
        check_width(page, f"{where} {address}")
        assert page.evaluate(CONTROLS, [".top", ".brand", ".tabs", ".scrubber input"]) == [], (
            where,
            address,
        )
    for selector in (".seats .seat", ".timeline .number"):
        for each in page.locator(selector).all()[:3]:
            each.evaluate("element => element.click()")
            words.append(inspect(page, f"{where} {selector}", ".panel"))
            check_width(page, f"{where} {selector}")
    for figure in visit_figures(page):
        words.append(inspect(page, f"{where} {figure}"))
    page.locator("button.topic").click()
    inspect(page, f"{where} topic")
    assert page.evaluate(CONTROLS, [".top", ".tabs", ".scrubber input"]) == [], where
    return "\n".join(words)


def look_through_on_a_phone(page: Page, where: str) -> None:
    """Every entry and every lens of a session that is open: nothing sticks out, what one needs is in reach."""
    page.set_viewport_size(PHONE)
    page.keyboard.press("Escape")
    read_timeline(page)
    check_width(page, f"{where} on a phone")
    for address in visit_lenses(page):
        check_width(page, f"{where} {address} on a phone")
        assert page.evaluate(CONTROLS, [".top", ".brand", ".grip"]) == [], (where, address)
    page.set_viewport_size(WIDE)


def test_the_trap_would_spring(browser: Browser) -> None:
    """W-8: in a page that takes texts as markup each of these runs, so that the other tests could fail."""
    page = browser.new_page()
    for name in ("script", "handler", "svg", "end of a script", "end of everything"):
        page.set_content(TEXTS[name])
        page.wait_for_function("window.__moot_trap > 0")
        page.goto("about:blank")
    page.close()


@pytest.mark.parametrize("names", [PROTOCOLS[::2], PROTOCOLS[1::2]], ids=" ".join)
def test_nothing_that_is_said_runs_or_breaks_the_layout(
    site: HostileSite, visit: Visit, tmp_path: Path, names: Sequence[str]
) -> None:
    """W-8, W-11: hostile words in all places of a meeting: its question, seats, speeches, votes, conditions, losses, files and
    inputs; live, back in time, on a phone, and saved as a file that is opened from disk.
    """
    faults: list[str] = []
    page = visit(site.server, "about:blank", viewport=WIDE)
    # A file loads nothing: neither from the server nor from anywhere else.
    saved = visit(site.server, "about:blank", viewport=WIDE, origin="file://")
    for each in (page, saved):
        guard(each, faults)
    for name in names:
        open_view(page, f"/s/hostile_{name}")
        words = look_through(page, name)
        assert [anchor for anchor in ANCHORS if anchor not in words] == [], name
        look_through_on_a_phone(page, name)
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".scrubber .place")).to_have_text(
            re.compile(r"^entry \d+ of \d+(?!.*…)")
        )
        inspect(page, f"{name} back in time")

        path = tmp_path / f"{name}.html"
        text = site.server.local("moot.exportSession", sessionId=f"hostile_{name}", form="html")[
            "text"
        ]
        path.write_text(text, encoding="utf-8")
        saved.goto(path.as_uri())
        expect(saved.locator("#app .timeline")).to_be_visible()
        # The file is the same page with the same data: one protocol is looked through, of all others what is first seen.
        words = (
            look_through(saved, "export")
            if name == "debate"
            else read_timeline(saved) + inspect(saved, "export")
        )
        assert [anchor for anchor in ANCHORS if anchor not in words] == [], f"export of {name}"
    assert faults == []


def test_every_text_stands_in_every_kind_of_place(site: HostileSite) -> None:
    """W-8: what the other tests look at; and what a front end gets is clean before it draws."""
    assert len(TEXTS) == 40
    kinds = site.tainter.list_kinds()
    assert len(kinds) > 12
    for kind in kinds:
        assert site.tainter.placed[kind] == {*TEXTS}, kind
    for name in PROTOCOLS:
        view = site.server.local("moot.getView", sessionId=f"hostile_{name}")
        for part in ("timeline", "memo", "decisionBlocks", "argumentBlocks", "lenses", "numbers"):
            assert [text[:200] for text in strings(view[part]) if UNSAFE.search(text)] == [], (
                name,
                part,
            )


def test_nothing_in_the_lists_runs_or_breaks_the_layout(site: HostileSite, visit: Visit) -> None:
    """W-8: home, search, decisions and their traces, obligations, trust, breakers, a person's seat, the document's title."""
    server, faults = site.server, list[str]()
    # Addresses that nobody has are answered with 404.
    page = visit(server, "about:blank", viewport=WIDE, forgiven=[r"status of 4\d\d"])
    guard(page, faults)
    paths = [
        "/",
        "/?q=script",
        "/decisions",
        "/decisions?q=%3Cscript%3E",
        "/obligations",
        "/trust",
        "/trust/ada",
        "/breakers",
        "/new",
    ]
    paths += [
        f"/decisions/{each}" for each in (*site.decisions, "hostile_debate", "hostile_persona")
    ]
    paths += [f"/s/{site.waiting[0]}", *(f"/seat/{each}/ada" for each in site.waiting)]
    odd = [
        "/s/%3Cscript%3E",
        "/trust/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
        f"/decisions/{TRAP}",
    ]
    odd += ["/seat/x/%3Csvg%20onload=1%3E", "/?q=%22%3E%3Cscript%3E"]
    words = []
    for path in (*paths, *odd):
        page.set_viewport_size(WIDE)
        if path in odd:
            page.goto(path)
            wait_until_shown(page)
        else:
            open_view(page, path)
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        words.append(inspect(page, path))
        check_width(page, path)
        page.set_viewport_size(PHONE)
        check_width(page, f"{path} on a phone")
        assert page.evaluate(CONTROLS, [".top", ".brand"]) == [], path
    assert [anchor for anchor in ANCHORS if anchor not in "\n".join(words)] == []
    assert faults == []


def test_hostile_text_that_arrives_live_stays_text(site: HostileSite, visit: Visit) -> None:
    """W-8, W-5: what comes over the stream while the page is open, and the notice that it is somebody's turn."""
    client = site.server.local
    session = client.opened(
        topic=f"{TEXTS['right to left']} {TEXTS['handler']}",
        participants=["ada", "bob"],
        language="zh",
    )
    page = visit(site.server, f"/s/{session}", viewport=WIDE)
    wait_until_shown(page)
    person = visit(site.server, "/login")
    person.add_init_script(f"({HIDE})(true); {KEEP_NOTICES}")
    person.goto(f"/seat/{session}/ada")
    until(lambda: person.evaluate("window.notices.length"))
    title, body = person.evaluate("window.notices[0]")
    assert title == "ada，轮到你了"
    assert TEXTS["handler"] in body
    assert UNSAFE.search(body) is None
    for number, text in enumerate(TEXTS.values()):
        client("moot.giveInput", sessionId=session, text=f"{text}\n\nnumber {number}")
    expect(page.locator(".timeline")).to_contain_text(f"number {len(TEXTS) - 1}")
    words = read_timeline(page) + inspect(page, "inputs")
    assert [number for number in range(len(TEXTS)) if f"number {number}" not in words] == []
    client.say(session, "ada", "propose", text=TEXTS["script"], choice=TEXTS["svg"][:80])
    client.say(
        session, "bob", "propose", text=TEXTS["end of a script"], choice=TEXTS["handler"][:80]
    )
    expect(page.locator(".timeline")).to_contain_text("<!-- <script> ]]> -->")
    inspect(page, "proposals")
    check_width(page, "live")
    inspect(person, "seat")


def test_words_too_long_to_read_are_refused_or_folded(site: HostileSite, visit: Visit) -> None:
    """W-8: a line of 1 MB and 10,000 nested marks: refused with a sentence, or shown without harm to the layout."""
    client = site.server.local
    session = client.opened(topic="Long words", participants=["ada", "bob"])
    refused = client.refused("moot.giveInput", sessionId=session, text="x" * 1_000_000)
    assert "characters" in refused.message
    # Over the wire half a character is refused; from a program (`play_hostile`) it is replaced.
    assert "unicode" in client.refused("moot.giveInput", sessionId=session, text="\ud800").message
    nested = [
        ">" * 10_000 + " deep",
        "[" * 10_000 + "x",
        "- " * 9_999 + "x",
        "(" * 10_000,
        "*" * 10_000 + "x",
        "`" * 9_999,
    ]
    for text in (*nested, "&" * 10_000, "x" * 19_999):
        client("moot.giveInput", sessionId=session, text=text)
    page = visit(site.server, f"/s/{session}", viewport=WIDE)
    look_through(page, "long words")
    look_through_on_a_phone(page, "long words")


def test_no_script_may_set_markup(site: HostileSite, visit: Visit) -> None:
    """W-8, W-7: the browser itself refuses text as markup wherever the page has not vouched for it."""
    page = visit(
        site.server, "/login", forgiven=["TrustedHTML", "TrustedTypePolicy", "trusted-types"]
    )
    tried = page.evaluate(
        """html => {
          try { document.createElement("div").innerHTML = html; return "set"; } catch (error) { return error.name; }
        }""",
        TEXTS["handler"],
    )
    assert tried == "TypeError"
    forged = page.evaluate(
        "() => { try { trustedTypes.createPolicy('mine', {}); return 'made'; } catch (error) { return error.name; } }"
    )
    assert forged == "TypeError"


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return [each for child in children for each in strings(child)]
