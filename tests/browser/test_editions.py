"""Other forms of a session: while it runs, on paper, beside another one; and what says that it is a demo or a fork."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.meetings import PROTOCOLS, Shown
from tests.browser.pages import Visit


@pytest.mark.parametrize(
    ("protocol", "at", "told"),
    [
        ("persona", 20, ["Before, blind", "Used so far"]),
        ("debate", 14, ["Awaited", "Sam", "Who stood where", "Challenges"]),
        ("pipeline", 10, ["Steps"]),
        ("swarm", 30, ["Convergence by round"]),
    ],
)
def test_a_running_meeting_says_where_it_stands_in_its_panel(
    shown: Shown, visit: Visit, protocol: str, at: int, told: list[str]
) -> None:
    """W-2: what is awaited from whom, and the sections of its report that move, without a click."""
    page = visit(shown("en"), f"/s/{protocol}_en?at={at}")
    expect(page.locator(".scrubber .place")).to_have_text(re.compile(rf"^entry {at} of \d+(?!.*…)"))
    for each in told:
        expect(page.locator(".so-far")).to_contain_text(each)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_print_holds_the_question_the_decision_and_everything_that_was_said(
    shown: Shown, visit: Visit, tmp_path: Path, protocol: str
) -> None:
    """W-11: in this order, with exact dates, whatever lens is open; the screen is as before afterwards."""
    page = visit(shown("en"), f"/s/{protocol}_en?lens=about")
    expect(page.locator(".state-word")).to_have_text("concluded")
    topic, entries = (
        page.locator("h1").inner_text(),
        page.locator(".timeline li[data-entry]").count(),
    )
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    paper = page.locator(".print-view")
    expect(paper).to_be_visible()
    expect(page.locator("main.session")).not_to_be_visible()
    words = paper.inner_text()
    assert words.index(topic) < words.index("Decision") < words.rindex("Timeline"), words[:500]
    assert paper.locator("li[data-entry]").count() >= entries
    times = paper.locator("time").evaluate_all(
        "all => all.map((each) => getComputedStyle(each, '::after').content)"
    )
    assert all(re.search(r"\d{4}, \d\d:\d\d:\d\d", each) for each in times), times
    # No heading stands over nothing, and no chart is empty.
    bare = "all => all.map((each) => each.innerText.trim()).filter((text) => !text.includes('\\n'))"
    assert paper.locator("section").evaluate_all(bare) == []
    lines = paper.locator(".plot svg").evaluate_all(
        "all => all.map((each) => each.querySelectorAll('g path').length)"
    )
    assert all(lines), lines
    assert bool(lines) == (protocol == "swarm")
    # No panel is clipped: all of it is on the paper.
    assert paper.evaluate("paper => paper.scrollHeight <= document.documentElement.scrollHeight")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    expect(paper).to_have_count(0)
    for is_landscape in (False, True):
        assert page.pdf(format="A4", landscape=is_landscape).startswith(b"%PDF")


def test_an_answer_stands_behind_its_question_and_demos_are_marked(
    shown: Shown, visit: Visit
) -> None:
    """W-4: a consultation is a question and its answer, in the words of people; whoever gets the link sees that it is a demo."""
    page = visit(shown("en"), "/s/consultation_en")
    timeline = page.get_by_role("region", name="Timeline")
    expect(timeline).to_contain_text("Renate → Kim")
    expect(timeline).to_contain_text("Three points of your understanding do not hold.")
    assert "FROM @" not in page.locator("body").inner_text()
    expect(page.locator(".top .badge")).to_have_text("demo")


def test_a_fork_says_so_and_is_compared_with_its_original(shown: Shown, visit: Visit) -> None:
    """W-3: side by side, what each decided, and what was said since they parted."""
    server = shown("en")
    head = server.local("moot.getView", sessionId="own_debate_en")["head"]
    fork = server.local("moot.forkSession", sessionId="own_debate_en", at=head - 3)["sessionId"]
    page = visit(server, f"/s/{fork}", forgiven=["404"])
    page.locator(".top .badge").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two sessions compared")
    expect(page.get_by_text(f"The same up to entry {head - 3} of the record.")).to_be_visible()
    left = page.get_by_role("region", name="own_debate_en")
    expect(left.locator(".memo .strong")).to_contain_text("after the peak")
    expect(left.locator(".items li").first).to_be_visible()
    expect(page.get_by_role("region", name=fork)).to_be_visible()
    # Shares are whole percents that add up.
    shares = [
        int(each) for each in re.findall(r"(\d+) %", left.locator(".shares").first.inner_text())
    ]
    assert sum(shares) == 100
    page.goto(f"/compare/{fork}/nope")
    expect(page.get_by_role("alert")).to_have_text(
        "There is no session called nope, or you may not see it."
    )
    page.goto(f"/compare/{fork}")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()


def test_words_are_for_people_and_every_view_has_a_title(shown: Shown, visit: Visit) -> None:
    """W-1, W-10: a session that does not exist, twelve seats that are asked at once, what a phone has in place of the header."""
    server = shown("en")
    page = visit(server, "/s/nope", forgiven=["404", "Failed to load resource"])
    expect(page.get_by_role("alert")).to_contain_text("There is no session called nope")
    assert "debate_en" not in page.locator("main").inner_text()
    for path, title in (
        ("/new", "New session"),
        ("/decisions", "Decisions"),
        ("/trust", "Trust"),
        ("/breakers", "Circuit breakers"),
    ):
        page.goto(path)
        expect(page).to_have_title(f"{title} · Moot")
    seats = [f"seat{number}" for number in range(12)]
    session = server.local.opened(topic="Who of twelve?", participants=seats)
    page.goto(f"/s/{session}")
    expect(page.locator(".notices a.button")).to_have_count(4)
    page.locator(".notices select").select_option("seat9")
    expect(page.get_by_role("heading", name="You sit as seat9")).to_be_visible()
    phone = visit(server, "/s/debate_en?lens=about", viewport={"width": 360, "height": 740})
    for name in ("Language", "Dark colours", "Help"):
        expect(phone.locator(".phone-tools").get_by_label(name)).to_be_visible()
    # A link to an entry shows its words, not what is known of it.
    phone.goto("/s/debate_en?entry=9")
    expect(phone.locator("main.session:not(.panel-up) #entry-9")).to_be_in_viewport()
    # Back is where the reader was.
    phone.goto("/")
    phone.get_by_role("region", name="Decided").get_by_role("link").nth(7).click()
    expect(phone.get_by_role("region", name="Timeline")).to_be_visible()
    phone.go_back()
    phone.wait_for_function("scrollY > 0")


def test_words_that_are_cut_on_paper_and_in_an_export_say_so(
    shown: Shown, visit: Visit, tmp_path: Path
) -> None:
    """W-6, W-11: the page shows all of them when asked."""
    server = shown("en")
    local = server.local
    session = local(
        "moot.openSession",
        topic="Long?",
        protocol="roundtable",
        seats=[{"id": "ada"}, {"id": "bob"}],
    )["sessionId"]
    seat = local("moot.getAsks", sessionId=session)["asks"][0]["seat"]
    local("moot.answer", sessionId=session, seat=seat, answer="Word by word. " * 2_000)
    page = visit(server, f"/s/{session}")
    expect(page.get_by_role("button", name="Show all of it")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".print-view")).to_contain_text("Cut here: the text goes on.")
    file = tmp_path / "export.html"
    file.write_text(
        local("moot.exportSession", sessionId=session, form="html")["text"], encoding="utf-8"
    )
    export = visit(server, file.as_uri(), origin="file://")
    expect(export.locator(".timeline")).to_contain_text("Cut here: the text goes on.")


def test_what_was_said_before_is_shown_while_later_words_are_sealed(shown: Shown) -> None:
    """W-2, W-4: a swarm's later rounds and its vote are blind; the findings of the rounds before stay on the page."""
    local = shown("en").local
    cards = {
        each[1]["entry"]
        for each in local("moot.getView", sessionId="swarm_en")["timeline"]["items"]
        if each[1].get("entry")
    }
    shown_blind: list[set[int]] = []
    for at in range(2, local("moot.getView", sessionId="swarm_en")["head"]):
        view = local("moot.getView", sessionId="swarm_en", at=at, limit=100)
        found = {each[1]["entry"] for each in view["timeline"]["items"] if each[1].get("entry")}
        assert found <= cards
        shown_blind += [found] if view["sealed"] else []
    assert shown_blind[0] == {1}
    assert shown_blind[-1] == cards


def test_a_decision_and_a_card_are_copied_as_markdown(shown: Shown, visit: Visit) -> None:
    """W-6: the minutes, and what was said in one entry, for a ticket or a mail."""
    page = visit(shown("en"), "/s/debate_en", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("# ")
    page.goto("/s/debate_en?entry=3")
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert re.match(
        r"\*\*Pavel\*\* \(\[#3\]\(http.*/s/debate_en\?entry=3\)\)\n\n> After",
        page.evaluate("navigator.clipboard.readText()"),
    )
