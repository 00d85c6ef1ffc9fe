"""The pictures of docs/page.md: a screenshot of each view, taken with MOOT_SNAPSHOTS=write.

Without it the views are rendered all the same, and each picture must be there, small, and named in the docs.
"""

import base64
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.acceptance.doors import Cli
from tests.acceptance.server import Server
from tests.browser.looking import PHONE, wait_until_shown
from tests.browser.meetings import SEATS, fill_memory, record_demos
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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pictures")
    record_demos(folder / "home", languages=("en",))
    record_demos(folder / "home", names=("debate",), languages=("zh",), own=())
    with Server(Cli(folder / "home", folder)) as found:
        yield found


@pytest.fixture(scope="module")
def places(server: Server) -> dict[str, str]:
    held = fill_memory(server.local, "en")
    waiting = server.local.opened(
        topic="Who waters the plants in August?", options=["whoever is in", "a service"], participants=list(SEATS)
    )
    return {"decision": held[0], "waiting": waiting}


def take_picture(page: Page) -> bytes:
    """The page as WebP: a third of a PNG's bytes."""
    client = page.context.new_cdp_session(page)
    found: Any = client.send("Page.captureScreenshot", {"format": "webp", "quality": 60})
    return base64.b64decode(found["data"])


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_every_view_has_its_picture(server: Server, visit: Visit, places: dict[str, str], view: View) -> None:
    """W-1 … W-6, W-10: what docs/page.md shows is what the page looks like."""
    window = PHONE if view.window == "phone" else WINDOW
    page = visit(
        server, view.path.format(**places), viewport=window, color_scheme=view.theme, locale=view.locale, reduced_motion="reduce"
    )
    wait_until_shown(page)
    expect(page.locator("#app")).to_contain_text(view.shows)
    path = PICTURES / f"{view.name}.webp"
    if os.environ.get("MOOT_SNAPSHOTS") == "write":
        page.wait_for_timeout(700)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(take_picture(page))
    assert path.exists(), f"take it with: MOOT_SNAPSHOTS=write pytest {Path(__file__).name}"
    assert path.stat().st_size <= LARGEST


def test_the_docs_show_every_picture_and_no_other() -> None:
    named = set(re.findall(r"pictures/([\w-]+)\.webp", (DOCS / "page.md").read_text(encoding="utf-8")))
    assert named == {view.name for view in VIEWS} == {path.stem for path in PICTURES.iterdir()}
