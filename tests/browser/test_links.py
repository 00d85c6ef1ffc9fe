"""Several links in one browser, and links that were withdrawn (W-7, W-9)."""

import re
from typing import Any

from playwright.sync_api import Page, expect
from tests.acceptance.server import Server
from tests.browser.pages import Visit

TOPIC = "Do we move the offices to the river?"
OTHER = "Do we keep the old kitchen?"
FORGIVEN = ["status of 40[139]"]


def invite(server: Server, session: str, *whom: str) -> Any:
    return server.cli.json("invite", session, *whom, "--url", f"http://{server.address}")


def open_in(page: Page, link: str) -> Page:
    """Open a link in another tab of the same browser."""
    tab = page.context.new_page()
    tab.goto(link)
    return tab


def read_path(link: str) -> str:
    return re.sub(r"^http://[^/]+", "", link)


def test_two_links_in_one_browser_are_two_seats_and_neither_is_lost(
    server: Server, visit: Visit
) -> None:
    """W-7: the first tab goes on writing and sends; home lists both; a second seat of one meeting is refused in words."""
    local = server.local
    first = local.opened(topic=TOPIC, participants=["ada", "bob"])
    second = local.opened(topic=OTHER, participants=["eve", "dan"])
    one = visit(
        server,
        read_path(invite(server, first, "--seat", "ada")["link"]),
        is_nobody=True,
        forgiven=FORGIVEN,
    )
    form = one.locator("form.ask")
    form.get_by_label("What do you propose").fill("Half an answer")
    two = open_in(one, invite(server, second, "--seat", "eve")["link"])
    expect(two.get_by_text("You sit as eve")).to_be_visible()
    local.say(first, "bob", "propose", text="Stay.", choice="stay")
    expect(one.locator(".state-word")).not_to_have_text("offline")
    one.get_by_role("button", name="Send the answer").click()
    # The next question lists it, too.
    timeline = one.get_by_role("region", name="Timeline")
    expect(timeline.get_by_text("Half an answer")).to_be_visible()
    one.reload()
    expect(one.get_by_text("You sit as ada")).to_be_visible()
    two.goto(f"http://{server.address}/")
    expect(two.get_by_role("heading", name="Your meetings")).to_be_visible()
    expect(two.get_by_role("link", name=re.compile(TOPIC.rstrip("?")))).to_be_visible()
    link = invite(server, first, "--seat", "bob")["link"]
    three = open_in(one, link)
    asked = three.get_by_text("One person takes one seat of a meeting.")
    expect(asked).to_be_visible()
    three.get_by_role("link", name="Go on as ada").click()
    expect(three.get_by_text("You sit as ada")).to_be_visible()


def test_the_owner_who_tries_out_a_link_stays_the_owner_everywhere_else(
    server: Server, visit: Visit
) -> None:
    """W-7: it is asked first, counts in that tab alone, and survives its reload."""
    session = server.local.opened(topic=TOPIC, participants=["ada", "bob"])
    owner = visit(server, f"/s/{session}", forgiven=FORGIVEN)
    expect(owner.get_by_role("button", name="Invite …")).to_be_visible()
    tab = open_in(owner, invite(server, session, "--observer")["link"])
    expect(tab.get_by_text("Your own access stays in all other tabs.")).to_be_visible()
    tab.get_by_role("button", name="Open it in this tab").click()
    for _ in range(2):
        expect(tab.get_by_role("heading", name=TOPIC).first).to_be_visible()
        expect(tab.get_by_role("button", name="Invite …")).to_have_count(0)
        tab.reload()
    owner.reload()
    expect(owner.get_by_role("button", name="Invite …")).to_be_visible()


def test_a_withdrawn_link_says_so_and_is_not_offline(server: Server, visit: Visit) -> None:
    """W-7, W-9: in words, at once and after a reload, what was typed stays, and nobody asks the server for ever."""
    local = server.local
    first = local.opened(topic=TOPIC, participants=["ada", "bob"])
    second = local.opened(topic=OTHER, participants=["eve", "dan"])
    invited = invite(server, first, "--seat", "ada")
    one = visit(server, read_path(invited["link"]), is_nobody=True, forgiven=FORGIVEN)
    one.locator("form.ask").get_by_label("What do you propose").fill("Half an answer")
    other = invite(server, second, "--seat", "eve")
    two = open_in(one, other["link"])
    expect(two.get_by_text("You sit as eve")).to_be_visible()
    server.cli("invite", "--revoke", invited["tokenId"])
    withdrawn = one.get_by_text("This link was withdrawn by whoever invited you.").first
    expect(withdrawn).to_be_visible()
    expect(one.locator(".state-word")).not_to_have_text("offline")
    expect(one.locator("form.ask textarea").first).to_have_value("Half an answer")
    one.reload()
    expect(withdrawn).to_be_visible()
    # The other meeting goes on.
    local.say(second, "dan", "propose", text="Keep it.", choice="keep")
    expect(two.locator(".state-word")).not_to_have_text("offline")
    server.cli("invite", "--revoke", other["tokenId"])
    ended = two.get_by_text("This link was withdrawn by whoever invited you.")
    expect(ended).to_be_visible()
    # Nobody any more: no way on that leads nowhere, and nothing to sign out of.
    expect(two.get_by_role("heading", name="Your access here has ended")).to_be_visible()
    for name in ("Go on as before", "Sign out"):
        expect(two.get_by_role("button", name=name)).to_have_count(0)
    expect(two.get_by_role("navigation")).to_have_count(0)
    asked: list[str] = []
    two.on("request", lambda request: asked.append(request.url))
    two.wait_for_timeout(9_000)
    assert [url for url in asked if "/events" in url] == []


def test_a_new_link_brings_back_what_was_written_before_the_first_was_withdrawn(
    server: Server, visit: Visit
) -> None:
    """W-7: who is invited again goes on where it was, in the same browser."""
    session = server.local.opened(topic=TOPIC, participants=["ada", "bob"])
    first = invite(server, session, "--seat", "ada")
    page = visit(server, read_path(first["link"]), is_nobody=True, forgiven=FORGIVEN)
    page.locator("form.ask").get_by_label("What do you propose").fill("Half an answer")
    server.cli("invite", "--revoke", first["tokenId"])
    expect(page.get_by_text("A new link, opened in this browser,")).to_be_visible()
    again = open_in(page, invite(server, session, "--seat", "ada")["link"])
    expect(again.get_by_text("You sit as ada")).to_be_visible()
    expect(again.locator("form.ask textarea").first).to_have_value("Half an answer")


def test_a_phone_says_beside_the_form_that_a_link_was_withdrawn(
    server: Server, visit: Visit
) -> None:
    """W-7, W-9: the form lies over the timeline there; loaded anew, the page offers what the other links open and no more."""
    local = server.local
    first = local.opened(topic=TOPIC, participants=["ada", "bob"])
    second = local.opened(topic=OTHER, participants=["eve", "dan"])
    invited = invite(server, first, "--seat", "ada")
    link = read_path(invited["link"])
    phone = {"width": 390, "height": 844}
    page = visit(server, link, is_nobody=True, forgiven=FORGIVEN, viewport=phone)
    expect(page.get_by_text("You sit as ada")).to_be_visible()
    other = open_in(page, invite(server, second, "--seat", "eve")["link"])
    expect(other.get_by_text("You sit as eve")).to_be_visible()
    server.cli("invite", "--revoke", invited["tokenId"])
    seat = page.get_by_role("region", name="Your seat")
    expect(seat.get_by_text("This link was withdrawn by whoever invited you.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("This link was withdrawn by whoever invited you.")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(["Sessions"])


def test_a_link_that_was_used_is_refused_in_words_for_people(server: Server, visit: Visit) -> None:
    """W-7: with whom to ask, and without the names of commands."""
    session = server.local.opened(topic=TOPIC, participants=["ada", "bob"])
    link = read_path(invite(server, session, "--seat", "ada")["link"])
    page = visit(server, link, is_nobody=True)
    expect(page.get_by_text("You sit as ada")).to_be_visible()
    again = visit(server, link, is_nobody=True, forgiven=FORGIVEN)
    expect(again.get_by_role("alert")).to_contain_text("a link works once. Ask whoever gave it")
    expect(again.get_by_role("alert")).not_to_contain_text("moot invite")
