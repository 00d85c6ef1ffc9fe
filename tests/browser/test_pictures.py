"""The pictures of docs/page.md: a screenshot of each view, taken with MOOT_SNAPSHOTS=write; each is there, small, and named."""

import base64
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.looking import PHONE, wait_until_shown
from tests.browser.meetings import SEATS, Shown
from tests.browser.pages import Visit

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "pictures"
LARGEST = 120_000
WINDOW = {"width": 1280, "height": 800}


@dataclass(frozen=True, slots=True)
class View:
    """A picture: where, how, and a text that stands in it. `{decision}` and `{waiting}` are ids on the server of the test."""

    name: str
    path: str
    shows: str
    theme: str = "light"
    locale: str = "en-US"
    window: str = "wide"


VIEWS = (
    View("home", "/", "Ask something"),
    View("new", "/new", "How it is decided"),
    View("persona", "/s/persona_en", "open the source"),
    View("debate", "/s/debate_en?lens=vote_table", "Votes"),
    View("debate-past", "/s/debate_en?at=14", "entry 14"),
    View("roundtable", "/s/roundtable_en?lens=minutes", "Minutes", "dark"),
    View("consultation", "/s/consultation_en", "Renate"),
    View("swarm", "/s/swarm_en?lens=by_round", "Convergence by round", "dark"),
    View("pipeline", "/s/pipeline_en?lens=steps", "Steps"),
    View("seat", "/seat/{waiting}/ada", "You sit as"),
    View("decisions", "/decisions", "turned out well"),
    View("decision", "/decisions/{decision}", "Which database holds our events?"),
    View("obligations", "/obligations", "Obligations"),
    View("trust", "/trust/ada", "Trust after each case"),
    View("breakers", "/breakers", "Rules for deciding alone"),
    View("chinese", "/s/debate_zh", "决定", "dark", "zh-CN"),
    View("phone", "/s/debate_en", "Decision and more", window="phone"),
    View("phone-panel", "/s/debate_en?lens=vote_table", "Votes", "dark", window="phone"),
)


def take_picture(page: Page) -> bytes:
    """The page as WebP, a third of a PNG's bytes; a view full of words is kept small by a lower quality."""
    client = page.context.new_cdp_session(page)
    for quality in (60, 50, 40):
        found: Any = client.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
        picture = base64.b64decode(found["data"])
        if len(picture) <= LARGEST:
            break
    return picture


@pytest.mark.skipif(
    os.environ.get("MOOT_SNAPSHOTS") != "write",
    reason="the views themselves are looked at by other tests",
)
def test_every_view_has_its_picture(shown: Shown, visit: Visit) -> None:
    """W-1 … W-6, W-10: what docs/page.md shows is what the page looks like."""
    client = shown("en").local
    waiting = client.opened(
        topic="Who waters the plants in August?",
        options=["whoever is in", "a service"],
        participants=list(SEATS),
    )
    decided = client("cstp.listDecisions", limit=200)["decisions"]
    decision = next(
        each["decisionId"]
        for each in decided
        if each["topic"] == "Which database holds our events?"
    )
    for view in VIEWS:
        page = visit(
            shown("zh" if view.locale == "zh-CN" else "en"),
            view.path.format(decision=decision, waiting=waiting),
            viewport=PHONE if view.window == "phone" else WINDOW,
            color_scheme=view.theme,
            locale=view.locale,
            reduced_motion="reduce",
        )
        wait_until_shown(page)
        expect(page.locator("#app")).to_contain_text(view.shows)
        page.wait_for_timeout(300)
        PICTURES.mkdir(exist_ok=True)
        (PICTURES / f"{view.name}.webp").write_bytes(take_picture(page))


def test_the_docs_show_every_picture_and_no_other() -> None:
    """W-1 … W-6, W-10: each picture is there and small."""
    named = set(
        re.findall(r"pictures/([\w-]+)\.webp", (DOCS / "page.md").read_text(encoding="utf-8"))
    )
    assert named == {view.name for view in VIEWS} == {path.stem for path in PICTURES.glob("*.webp")}
    assert [path.name for path in PICTURES.iterdir() if path.stat().st_size > LARGEST] == []
