"""The text of a page of the web, whoever made it (E-3, E-6)."""

import pytest
from tests.support.growth import measure_growth

from moothall.participants.page_text import extract_text

PAGES = {
    "<p>One\nline.<p>Two": "One line.\nTwo",
    "<TITLE>t</TITLE><h1>Head</h1>text": "Head\ntext",
    "<head><title>t<script>no</script></head>so": "so",
    "<title>t": "t",
    "a<script>if (a < b) {}</script >b<STYLE>p {}</style>c": "abc",
    "a<script>never closed <p>b": "a",
    "a<svg><title>t</title></svg>b<svgs>c</svgs>": "abc",
    "a<!-- <p>no --> b<!-- never closed": "a b",
    "<!doctype html><?xml?>so": "so",
    "1 < 2 and 3 <4 <": "1 < 2 and 3 <4 <",
    "cut <a href='x": "cut",
    "a &amp; b&nbsp;c &#228; &lt;p&gt; &nope;": "a & b c ä <p> &nope;",
    "a &#999999999999; b": "a b",
    "<my-p>a</my-p><pre-x>b</pre-x>": "ab",
    "<ul><li>One<li>Two</ul>": "One\nTwo",
    "a\0b": "a b",
}


@pytest.mark.parametrize(("page", "text"), PAGES.items())
def test_a_page_is_read_by_its_blocks_without_what_is_hidden(page: str, text: str) -> None:
    """E-3."""
    assert extract_text(page) == text


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "part",
    [
        *("<", "<title ", "<p ", "<title>", "</title ", "<!--", "<!", "</", "&", "&#", "&#1", "<?"),
        *("<script>", "<script", "</script ", "<svg><", '<p a="', "<a ", "<p><", " ", "<p>", "\0"),
        *("<style></style ", "<head><title>", "<![CDATA[", "<title></title", "9", "&#x9"),
    ],
)
def test_a_page_of_one_sign_again_and_again_costs_as_much_as_it_is_long(part: str) -> None:
    """E-6: eight times the page is no sixty-four times the work."""

    def read(size: int) -> str:
        return extract_text((part * size)[:size])

    assert measure_growth(read, 25_000, 200_000) < 24
    read(200_000)
    extract_text("&#" + "9" * 200_000 + "<title " + "x" * 100)
