"""Meetings on the page, from the question to the decision: opened, watched, spoken to, stopped; every protocol in its form."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.acceptance.doors import until
from tests.acceptance.server import Client, Server
from tests.browser.pages import Visit, read_session

from moothall_testkit.stub_server import Request, Step, StubReply

HALF = "Nobody has tested this on the old ledger"
PROTOCOLS = (
    "persona",
    "debate",
    "advisory",
    "consensus",
    "roundtable",
    "swarm",
    "consultation",
    "pipeline",
)
LENSES = {
    "persona": "consensus",
    "debate": "challenges",
    "advisory": "vote_table",
    "consensus": "vote_table",
    "roundtable": "minutes",
    "swarm": "by_round",
    "consultation": "consultations",
    "pipeline": "steps",
}
"""A lens that belongs to each protocol's own form."""


def change_answer(kind: str, request: Request) -> Step | None:
    """A speaker that falls silent in the middle of a word where the question says so."""
    if kind == "speech" and "fall silent" in request.text:
        return StubReply(
            text=f"{HALF} and therefore we should", stop_after=len(HALF) // 8, then="hang"
        )
    return None


def fill_seats(page: Page, seats: dict[str, str]) -> None:
    """Seats of one's own in the form, each with its participant; nobody is a person or an agent from outside."""
    page.get_by_text("Seats of my own").click()
    for number, (name, platform) in enumerate(seats.items(), start=1):
        seat = page.get_by_role("group", name=f"Seat {number}")
        if seat.count() == 0:
            page.get_by_role("button", name="Another seat").click()
        seat.get_by_label("Name").fill(name)
        seat.get_by_label("Participant").fill(platform)


def answer_all(client: Client, session: str, seat: str, says: dict[str, dict[str, object]]) -> None:
    """Contribute for a seat from outside until the session is over."""
    cursor = 0
    while True:
        turn = client(
            "cstp.waitForTurn",
            deliberationId=session,
            participant=seat,
            cursor=cursor,
            timeoutSeconds=20,
        )
        cursor = turn["cursor"]
        if turn["status"] == "closed":
            return
        if turn["status"] == "your_turn":
            client(
                "cstp.contribute",
                deliberationId=session,
                participant=seat,
                **says[turn["ask"]["phase"]],
            )


def test_a_question_becomes_a_decision(server: Server, visit: Visit, tmp_path: Path) -> None:
    """W-1, W-2: from the first visit through the form and the meeting to the list of what was decided."""
    page = visit(server)
    expect(
        page.get_by_role("heading", name="Put a question before a group of minds.")
    ).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Play: "))).to_have_count(len(PROTOCOLS))
    page.get_by_label("Your question").fill("Do we ship the new ledger on Monday?")
    page.get_by_role("button", name="Ask something").click()
    expect(page.get_by_role("textbox", name="The question", exact=True)).to_have_value(
        "Do we ship the new ledger on Monday?"
    )
    page.get_by_role("radio", name=re.compile("^Structured debate")).check()
    fill_seats(page, {"for": "openai:gpt-5-mini", "against": "openai:gpt-5-mini", "for ": ""})
    estimate = page.get_by_role("complementary", name="What it will take")
    expect(estimate.get_by_role("alert")).to_contain_text("for")
    page.get_by_role("group", name="Seat 3").get_by_label("Name").fill("cy")
    expect(estimate.get_by_text("cy", exact=True)).to_be_visible()
    expect(estimate.get_by_role("definition").nth(0)).to_have_text(re.compile(r"^\d+ – \d+$"))
    expect(estimate.get_by_role("definition").nth(2)).to_contain_text("$")
    (tmp_path / "plan.md").write_text("# Plan\nThe old ledger stays for a week.")
    (tmp_path / "picture.bin").write_bytes(b"\x89PNG\x00\xff")
    page.get_by_text("Possible answers, stakes, files").click()
    page.get_by_label("Files that everybody reads").set_input_files(str(tmp_path / "picture.bin"))
    expect(
        page.get_by_role("alert").filter(has_text="picture.bin is neither a text file")
    ).to_be_visible()
    page.get_by_label("Files that everybody reads").set_input_files(str(tmp_path / "plan.md"))
    expect(page.get_by_role("button", name="Take plan.md away")).to_be_visible()
    # What was typed is there after a reload; a file is not, and the page shows that it is not.
    page.reload()
    expect(page.get_by_role("textbox", name="The question", exact=True)).to_have_value(
        "Do we ship the new ledger on Monday?"
    )
    expect(page.get_by_role("group", name="Seat 3").get_by_label("Name")).to_have_value("cy")
    page.get_by_text("Possible answers, stakes, files").click()
    page.get_by_label("Files that everybody reads").set_input_files(str(tmp_path / "plan.md"))
    page.get_by_role("button", name="Start the session").click()
    page.wait_for_url("**/s/*")

    session = read_session(page)
    expect(page).to_have_title(re.compile("Do we ship the new ledger on Monday?"))
    expect(page.get_by_role("list", name="Phases").locator("[aria-current=step]")).to_contain_text(
        "Proposing"
    )
    expect(page.get_by_role("list", name="Seats").get_by_role("link", name="cy")).to_contain_text(
        "is asked"
    )
    expect(page.get_by_role("status").filter(has_text="is asked")).to_contain_text("cy")
    page.get_by_label("Say something to the meeting").fill("Mind the *auditors*.")
    page.get_by_role("button", name="Send").click()
    told = (
        page.get_by_role("region", name="Timeline")
        .get_by_role("listitem")
        .filter(has_text="Mind the auditors.")
    )
    expect(told).to_contain_text("User")
    expect(page.get_by_label("Say something to the meeting")).to_have_value("")
    answer_all(
        server.local,
        session,
        "cy",
        {
            "propose": {
                "type": "propose",
                "text": "Ship on **Tuesday**.",
                "choice": "wait",
                "confidence": 0.7,
            },
            "argue": {
                "type": "support",
                "text": "Tuesday is quiet.",
                "confidence": 0.7,
                "refersTo": 2,
            },
            "answer": {"type": "support", "text": "It stays quiet.", "confidence": 0.7},
            "synthesize": {"type": "pass"},
            "vote": {
                "type": "vote",
                "position": "oppose",
                "text": "Not without the auditors.",
                "confidence": 0.6,
            },
        },
    )
    panel = page.get_by_role("complementary", name="Panel")
    expect(panel.get_by_role("heading", name="Decision", exact=True)).to_be_visible()
    view = server.local("moot.getView", sessionId=session)
    expect(panel.locator(".memo .strong")).to_have_text(view["memo"]["result"])
    expect(page.locator(".state-word")).to_have_text("concluded")
    timeline = page.get_by_role("region", name="Timeline")
    expect(timeline).to_contain_text("Ship on Tuesday.")
    expect(timeline.locator("strong").filter(has_text="Tuesday")).to_be_visible()
    # No figure stands above the memo: they are in a fold below it.
    expect(panel.locator(".figures button").first).to_be_hidden()
    panel.locator("summary").filter(has_text="Figures").click()
    figure = panel.locator(".figures button:enabled").first
    figure.click()
    expect(panel.locator(".how")).not_to_be_empty()
    assert [each["name"] for each in view["context"]] == ["plan.md"]

    page.get_by_role("link", name="Moot: all sessions").click()
    decided = page.get_by_role("region", name="Decided")
    expect(decided.get_by_role("link")).to_contain_text(["Do we ship the new ledger on Monday?"])
    expect(decided.get_by_role("link")).to_contain_text([view["choice"]])
    page.get_by_label("Search sessions").fill("the new LEDGER")
    expect(page.get_by_role("region", name="Found").get_by_role("link")).to_have_count(1)
    page.get_by_label("Search sessions").fill("bicycles")
    expect(page.get_by_text("No session is about that.")).to_be_visible()
    page.go_back()


def test_text_appears_while_it_is_produced_and_the_meeting_can_be_stopped(
    server: Server, visit: Visit
) -> None:
    """W-2: who writes is marked; the half sentence is not an entry, and goes when the meeting is stopped."""
    seats = [{"id": name, "platform": "openai:gpt-stub"} for name in ("ada", "bob")]
    session = server.local(
        "moot.openSession", topic="Do speakers fall silent?", protocol="persona", seats=seats
    )["sessionId"]
    until(
        lambda: (
            "writing"
            in {seat["state"] for seat in server.local("moot.getView", sessionId=session)["seats"]}
        )
    )
    page = visit(server, f"/s/{session}")
    written = page.locator(".item.writing")
    expect(page.locator(".seat.is-writing")).to_contain_text("writes")
    expect(written).to_contain_text("Nobody has tested")
    expect(page.locator(".state-word")).to_have_text("live")
    # Somebody who reloads, and somebody who looks in later, sees who writes and what was written so far.
    page.reload()
    late = visit(server, f"/s/{session}")
    for each in (page, late):
        expect(each.locator(".seat.is-writing")).to_contain_text("writes")
        expect(each.locator(".item.writing .stream")).to_have_text(re.compile("^Nobody has tested"))
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="No", exact=True).click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Yes, stop").click()
    expect(page.locator(".state-word")).to_have_text("stopped")
    expect(written).to_have_count(0)
    expect(page.get_by_label("Say something to the meeting")).to_have_count(0)
    assert server.local("moot.getView", sessionId=session)["status"] == "cancelled"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_has_its_form(server: Server, visit: Visit, protocol: str) -> None:
    """W-4, W-1: a demo is started on the page and watched to its end; every lens opens; what is there is what the server says."""
    session = server.local("moot.playDemo", name=protocol, pace="fast")["sessionId"]
    page = visit(server, f"/s/{session}")
    expect(page.locator(".state-word")).to_have_text("concluded")
    view = server.local("moot.getView", sessionId=session)
    panel = page.get_by_role("complementary", name="Panel")
    expect(panel.locator(".memo .strong")).to_have_text(view["memo"]["result"])
    phases = [re.compile(re.escape(each["name"])) for each in view["phases"]]
    expect(page.get_by_role("list", name="Phases").get_by_role("listitem")).to_have_text(phases)
    expect(page.get_by_role("list", name="Seats").get_by_role("listitem")).to_have_count(
        len(view["seats"])
    )
    if more := panel.get_by_role("button", name=re.compile("more …")).all():
        more[0].click()
    titles = {lens["id"]: lens["title"] for lens in view["lenses"]}
    for title in titles.values():
        panel.get_by_role("navigation", name="Lenses").get_by_role(
            "link", name=title, exact=True
        ).click()
        region = panel.get_by_role("region", name="Details")
        expect(region.get_by_role("heading", name=title, exact=True).first).to_be_visible()
        assert len(region.inner_text()) > len(title), title
    if protocol == "swarm":
        panel.get_by_role("navigation", name="Lenses").get_by_role(
            "link", name=titles["by_round"], exact=True
        ).click()
        expect(panel.locator(".chart svg").first).to_be_visible()
    assert LENSES[protocol] in titles
    for seat in view["seats"][:1]:
        page.get_by_role("list", name="Seats").get_by_role("link", name=seat["id"]).click()
        expect(panel.get_by_role("heading", name=seat["id"], exact=True)).to_be_visible()
    entries = [item["entry"] for _, item in view["timeline"]["items"] if item.get("entry")]
    if protocol == "consultation":
        assert entries == []
        return
    page.get_by_role("region", name="Timeline").press("j")
    expect(page.locator(f"#entry-{entries[0]}")).to_have_attribute("aria-current", "true")
    page.goto(f"/s/{session}?entry={entries[-1]}")
    expect(page.locator(f"#entry-{entries[-1]}")).to_be_in_viewport()


def test_a_demo_is_played_from_the_first_page(own_server: Server, visit: Visit) -> None:
    """W-1: one click, no model and no key."""
    page = visit(own_server)
    page.get_by_role("button", name=re.compile("^Play: ")).first.click()
    page.wait_for_url("**/s/*")
    session = read_session(page)
    expect(page.get_by_role("list", name="Seats").get_by_role("listitem")).not_to_have_count(0)
    until(lambda: own_server.local("moot.getView", sessionId=session)["timeline"]["items"])
    page.get_by_role("button", name="Conclude now").click()
    expect(page.get_by_text("End now, with a decision from what was said so far?")).to_be_visible()
