"""An exported page as a browser reads it, without its own program, and words that try to get out of their place in it."""

import re
from html.parser import HTMLParser
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


EVIL_HTML = (
    "<script>alert(1)</script>",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    "'><a href='javascript:alert(1)'>x</a>",
    "</style><link rel=stylesheet href=//evil.example>",
    "</title><meta http-equiv=refresh content='0;url=http://evil.example'>",
    "&lt;script&gt; &amp; <!-- --> ]]>",
    "{line} {seat} {0}",
)


class SeenPage(HTMLParser):
    """What a browser would make of a page; each tag is closed in its place."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
