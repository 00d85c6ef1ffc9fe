"""How tests look at a whole page: through all lenses of a session, at any width."""
# scripts and markup for the browser

from collections.abc import Iterator
from typing import Any, Final

from playwright.sync_api import Page, ViewportSize, expect

PHONE: Final[ViewportSize] = {"width": 380, "height": 760}
SMALL: Final[ViewportSize] = {"width": 360, "height": 740}
ZOOMED: Final[ViewportSize] = {"width": 640, "height": 400}
"""What a window of 1,280 × 800 has at 200 %."""
WIDE: Final[ViewportSize] = {"width": 1400, "height": 900}

_SHOW_ALL = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const timeline = document.querySelector(".timeline");
  const words = [];
  if (timeline) {
    timeline.scrollTop = 0;
    for (let at = 0; at <= 400; at++) {
      await frame();
      const folds = timeline.querySelectorAll("details:not([open])");
      for (const fold of folds) fold.open = true;
      if (folds.length) await frame();
      words.push(timeline.innerText);
      const before = timeline.scrollTop;
      // What is less than 1,000 pixels off the screen is filled.
      timeline.scrollTop += timeline.clientHeight + 1500;
      if (timeline.scrollTop === before) break;
    }
  }
  return words.join("\\n");
}"""
_FOLLOW = """async (path) => {
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
_OPEN_FOLDS = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await frame();
  for (let depth = 0; depth < 4; depth++) {
    const folds = document.querySelectorAll("#app details:not([open])");
    for (const fold of folds) fold.open = true;
    if (!folds.length) break;
    await frame();
  }
}"""


def wait_until_shown(page: Page) -> None:
    """Until the view has its content."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)


def open_view(page: Page, path: str) -> None:
    """Show another view as a link within the page does, without loading the page anew."""
    if page.url == "about:blank":
        page.goto(path)
    else:
        page.evaluate(_FOLLOW, path)
    wait_until_shown(page)


def read_timeline(page: Page) -> str:
    """All words of the timeline, every fold opened; what is far from the screen is only filled when it comes near."""
    return str(page.evaluate(_SHOW_ALL))


def list_lenses(page: Page) -> list[str]:
    """The addresses of all lenses of the session that is open."""
    more = page.locator(".tabs button")
    if more.count():
        more.first.evaluate("button => button.click()")
        expect(more).to_have_count(0)
    return list(
        page.locator(".tabs a").evaluate_all(
            "links => links.map((link) => link.getAttribute('href'))"
        )
    )


def visit_lenses(page: Page) -> Iterator[str]:
    """Every lens of the session, its folds opened; its address."""
    for address in list_lenses(page):
        page.evaluate(
            "address => [...document.querySelectorAll('.tabs a')].find((link) => link.getAttribute('href') === address)?.click()",
            address,
        )
        page.evaluate(_OPEN_FOLDS)
        yield address


def visit_figures(page: Page) -> Iterator[str]:
    """Every figure of the decision, opened to how it came about; its name."""
    page.keyboard.press("Escape")
    page.evaluate(_OPEN_FOLDS)
    for button in page.locator(".figures button[aria-expanded]:enabled").all():
        button.evaluate("button => button.click()")
        page.evaluate(_OPEN_FOLDS)
        yield button.inner_text()


def measure_width(page: Page) -> dict[str, Any]:
    """How wide the page is, and what sticks out if it is wider than the window."""
    found: dict[str, Any] = page.evaluate(
        """() => {
          const wide = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
          const clipped = (element) => {
            for (let at = element.parentElement; at; at = at.parentElement)
              if (getComputedStyle(at).overflowX !== "visible" && at !== document.body) return true;
            return false;
          };
          const out = [...document.querySelectorAll("#app *")].filter(
            (each) => each.getBoundingClientRect().right > innerWidth + 1 && getComputedStyle(each).clipPath === "none" && !clipped(each));
          return { wide, window: innerWidth, out: out.slice(0, 3).map((each) => each.outerHTML.slice(0, 160)) };
        }"""
    )
    return found


def check_width(page: Page, where: str) -> None:
    """No scrollbar at the foot of the page, nothing cut off at its right."""
    found = measure_width(page)
    assert found["wide"] <= found["window"], (where, found)
    assert found["out"] == [], (where, found)
