"""An exported page without its own program, so that a test sees every other tag in it."""

import re
from importlib.resources import files

OWN = re.compile(
    r'<div id="app"></div>\n<script type="application/json" id="moot-view">[^<>]*</script>\n<script>(.*)</script>\n</body>',
    re.DOTALL,
)


def take_own_script(page: str) -> str:
    """Return the page without the data and the script that it ends with; fails if that script is not the one that ships."""
    found = OWN.search(page)
    assert found is not None, page[-2_000:]
    folder = files("moothall.surfaces.http") / "page"
    assert found[1] == (folder / "app.js").read_text(encoding="utf-8")
    return page[: found.start()] + page[found.end(1) :].removeprefix("</script>\n")
