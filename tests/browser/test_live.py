"""A session over time: back to any entry and on from there, through reloads and a killed server, the same for all who look."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect
from tests.acceptance.doors import until
from tests.acceptance.server import SEATS, STEPS, Server
from tests.browser.pages import Visit, read_session

LOST = "The connection to the server is lost; trying again by itself."
BROKEN = ("net::ERR_", "Failed to load resource")


def timeline(page: Page) -> Locator:
    return page.get_by_role("region", name="Timeline")


def read_words(page: Page) -> dict[str, object]:
    """What a page shows of a session: entries with their words, seats with their states, phases, the decision."""
    found: dict[str, object] = page.evaluate(
        """() => {
          // "3 minutes ago" is no state of the session.
          const read = (query) => Array.from(document.querySelectorAll(query), (each) => {
            const copy = each.cloneNode(true);
            copy.querySelectorAll("time").forEach((time) => time.remove());
            return copy.textContent.trim();
          });
          const [items, seats, phases, panel] = [".timeline li", ".seats li", ".phases li", ".panel-body"].map(read);
          return { items, seats, phases, panel };
        }"""
    )
    return found


def list_shown(page: Page) -> list[int]:
    """The numbers of the entries on a page."""
    return [
        int(each.get_attribute("data-entry") or 0)
        for each in page.locator(".timeline li[data-entry]").all()
    ]


def list_told(view: Any) -> list[int]:
    """The numbers of the entries in a view."""
    return [item["entry"] for _, item in view["timeline"]["items"] if item.get("entry")]


def test_any_earlier_entry_shows_the_state_as_it_was_and_a_fork_goes_on_from_there(
    server: Server, visit: Visit
) -> None:
    """W-3: by slider, key and address; entries, seats, phases and decision are those that the server computes."""
    local = server.local
    session = local.held()
    head = local("moot.getView", sessionId=session)["head"]
    page = visit(server, f"/s/{session}")
    slider = page.get_by_role("slider", name="The meeting as it was after entry")
    expect(page.locator(".scrubber .place")).to_have_text(f"{head} entries")
    for at in (head - 1, 4, 2, 1):
        slider.fill(str(at))
        expect(page.locator(".scrubber .place")).to_have_text(
            re.compile(rf"^entry {at} of {head}(?!.*…)")
        )
        past = local("moot.getView", sessionId=session, at=at)
        assert page.url.endswith(f"?at={at}")
        assert list_shown(page) == list_told(past), at
        expect(page.locator(".phases [aria-current=step]")).to_have_text(
            [each["name"] for each in past["phases"] if each["state"] == "now"]
        )
        asked = [each["id"] for each in past["seats"] if each["state"] == "asked"]
        expect(page.locator(".seat.is-asked")).to_have_count(len(asked))
        expect(page.locator(".state-word")).to_have_text("as it was")
        # What was sealed then is sealed there.
        if "propose" in {each["kind"] for each in past["waiting"]}:
            assert "Adopt HSM for long-context" not in timeline(page).inner_text()
        assert page.get_by_label("Say something to the meeting").count() == 0
    slider.fill("5")
    expect(page.locator(".scrubber .place")).to_have_text(re.compile(rf"^entry 5 of {head}(?!.*…)"))
    before = read_words(page)
    # The address is the state.
    page.reload()
    expect(page.locator(".scrubber .place")).to_have_text(re.compile(rf"^entry 5 of {head}(?!.*…)"))
    assert read_words(page) == before
    timeline(page).press("ArrowLeft")
    expect(slider).to_have_value("4")
    timeline(page).press("ArrowRight")
    expect(slider).to_have_value("5")
    page.get_by_role("button", name="Fork from here").click()
    page.wait_for_url(lambda url: session not in url)
    copy = read_session(page)
    assert local("moot.getView", sessionId=copy)["forkedFrom"] == {"sessionId": session, "at": 5}
    expect(page.locator(".state-word")).to_have_text("waiting")
    # The copy goes another way; the session that it came from stays.
    local.say(copy, local("moot.getAsks", sessionId=copy)["asks"][0]["seat"], "pass")
    page.get_by_role("navigation", name="Lenses").get_by_role("link", name="About").click()
    expect(page.locator(".panel-body")).to_contain_text(session)
    assert local("moot.getView", sessionId=session)["head"] == head
    page.get_by_role("link", name=re.compile(session)).click()
    expect(page.locator(".scrubber .place")).to_have_text(re.compile(rf"^entry 5 of {head}"))
    page.get_by_role("button", name="Back to the end").click()
    expect(page.locator(".state-word")).to_have_text("concluded")


def test_reload_and_a_killed_server_lose_nothing_and_two_browsers_see_the_same(
    own_server: Server, visit: Visit
) -> None:
    """W-9, W-2: each says that it is offline, comes back by itself, and shows what was said meanwhile."""
    server = own_server
    session = server.local.opened()
    pages = [visit(server, f"/s/{session}", forgiven=BROKEN) for _ in range(2)]
    home = visit(server, forgiven=BROKEN)
    expect(
        home.get_by_role("region", name="Waiting for somebody").get_by_role("link")
    ).to_have_count(1)
    one, two = pages
    steps = iter(STEPS)

    def say_next(count: int) -> None:
        for seat, words in [next(steps) for _ in range(count)]:
            server.local("cstp.contribute", deliberationId=session, participant=seat, **words)

    one.get_by_label("Say something to the meeting").fill("Half a tho")
    say_next(1)
    for page in pages:
        expect(
            page.get_by_role("list", name="Seats").get_by_role("link", name="minski")
        ).to_contain_text("is asked")
    one.reload()
    expect(one.get_by_label("Say something to the meeting")).to_have_value("Half a tho")
    server.kill()
    for page in pages:
        expect(page.get_by_text(LOST)).to_be_visible()
        expect(page.locator(".state-word")).to_have_text("offline")
    expect(home.get_by_text("The server does not answer")).to_be_visible()
    # What cannot be sent is not lost either.
    one.get_by_role("button", name="Send").click()
    expect(one.locator(".controls").get_by_role("alert")).to_contain_text("does not answer")
    expect(one.get_by_label("Say something to the meeting")).to_have_value("Half a tho")
    # Somebody else writes to the ledger while the server is down.
    server.cli("input", session, "Said while the server was away.")
    server.start()
    say_next(2)
    for page in pages:
        expect(page.get_by_text(LOST)).to_have_count(0)
        expect(timeline(page)).to_contain_text("Said while the server was away.")
        expect(timeline(page)).to_contain_text("No production benchmarks")
    one.get_by_role("button", name="Send").click()
    for page in pages:
        expect(timeline(page)).to_contain_text("Half a tho")
    server.kill()
    server.start()
    say_next(len(STEPS) - 3)
    for page in pages:
        expect(page.locator(".state-word")).to_have_text("concluded")
    view = server.local("moot.getView", sessionId=session)
    two.reload()
    expect(two.locator(".state-word")).to_have_text("concluded")
    fresh = visit(server, f"/s/{session}")
    expect(fresh.locator(".state-word")).to_have_text("concluded")
    seen = [read_words(page) for page in (one, two, fresh)]
    assert seen[0] == seen[1] == seen[2]
    assert list_shown(one) == list_told(view)
    expect(home.get_by_role("region", name="Decided").get_by_role("link")).to_contain_text(
        [view["choice"]]
    )


def test_what_another_process_runs_is_seen_as_it_happens(server: Server, visit: Visit) -> None:
    """W-9, W-2: a meeting in a terminal, in the list and in its view, without a reload."""
    home = visit(server)
    session = server.local.opened(topic="Seen from elsewhere?", participants=list(SEATS))
    line = home.get_by_role("link").filter(has_text="Seen from elsewhere?")
    expect(line).to_contain_text("waits for")
    line.click()
    server.cli("input", session, "From a terminal.")
    expect(timeline(home)).to_contain_text("From a terminal.")
    server.cli("cancel", session)
    expect(home.locator(".state-word")).to_have_text("stopped")
    until(lambda: server.local("moot.getView", sessionId=session)["status"] == "cancelled")
    home.get_by_role("link", name="Moot: all sessions").click()
    expect(
        home.get_by_role("region", name="Ended without a decision").get_by_role("link")
    ).to_have_count(1)


def test_a_long_meeting_is_there_at_once_and_whole_soon(server: Server, visit: Visit) -> None:
    """W-2, W-9: its end first, the rest while it is read; a search, an address and the scrubber reach what came later."""
    local, spoken = server.local, 130
    seats = [{"id": name, "platform": "mailbox"} for name in ("ada", "bob")]
    opened = local(
        "moot.openSession",
        topic="What is long?",
        protocol="roundtable",
        seats=seats,
        settings={"max_rounds": 100},
    )
    session = opened["sessionId"]
    for number in range(1, spoken + 1):
        [ask] = until(lambda: local("moot.getAsks", sessionId=session)["asks"])
        said = "The needle." if number == 7 else f"Speech number {number}.\n\nIt answers nobody."
        local("moot.answer", sessionId=session, ask=ask["ask"], seat=ask["seat"], answer=said)
    page = visit(server, f"/s/{session}")
    expect(timeline(page).get_by_text(f"Speech number {spoken}.")).to_be_visible()
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill("the needle")
    expect(timeline(page).get_by_text("The needle.")).to_be_visible()
    expect(timeline(page).get_by_role("status")).to_have_text(re.compile(r"^1 of \d+ entries"))
    page.goto(f"{page.url}?entry=40")
    expect(page.locator("#entry-40")).to_be_in_viewport()
    slider = page.get_by_role("slider", name="The meeting as it was after entry")
    slider.fill("200")
    expect(page.locator(".scrubber .place")).to_have_text(re.compile(r"^entry 200 of"))
    page.evaluate("document.querySelector('.timeline').scrollTop = 0")
    expect(timeline(page).get_by_text("The needle.")).to_be_visible()
