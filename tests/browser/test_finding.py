"""Finding and sharing: search, my turn on every view, a read-only link, comparing, asking again (W-1, W-5, W-7)."""

import re

from playwright.sync_api import expect
from tests.acceptance.server import Server
from tests.browser.pages import HIDE, KEEP_NOTICES, Visit


def test_what_was_said_is_found_and_two_sessions_are_compared(server: Server, visit: Visit) -> None:
    """W-1: an excerpt leads to its entry; filters in the address; two are compared; tags, one put away, in every browser."""
    local = server.local
    first, second = (
        local.held(topic="Which cache?"),
        local.opened(topic="Which queue?", participants=["ada", "bob"]),
    )
    for seat in ("ada", "bob"):
        local.say(second, seat, "propose", text=f"{seat} fears orphaned messages", choice=seat)
    page = visit(server)
    page.get_by_role("searchbox").fill("orphaned messages")
    line = page.locator("[data-test=session-line]")
    expect(line).to_have_count(1)
    expect(line.locator(".line-said")).to_contain_text("orphaned messages")
    line.click()
    expect(page).to_have_url(re.compile(rf"/s/{second}\?entry=[34]$"))
    page.goto("/?state=decided")
    expect(line).to_have_count(1)
    page.get_by_label("State").select_option("")
    page.get_by_role("button", name="Select …").click()
    for topic in ("Which cache?", "Which queue?"):
        page.get_by_role("checkbox", name=topic).check()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile("/compare/"))
    expect(page.locator(".compared > section")).to_have_count(2)
    page.goto("/")
    page.get_by_role("button", name="Select …").click()
    page.get_by_role("checkbox", name="Which cache?").check()
    # Another browser of the same server sees it at once.
    other = visit(server)
    expect(other.locator("[data-test=session-line]")).to_have_count(2)
    page.get_by_label("Tags of the selected sessions").fill("infra, 2027")
    page.get_by_role("button", name="Set tags").click()
    expect(other.locator(".line-facts .badge")).to_have_text(["infra", "2027"])
    page.get_by_role("button", name="Select …").click()
    page.get_by_role("checkbox", name="Which cache?").check()
    page.get_by_role("button", name="Put away").click()
    expect(line).to_have_count(1)
    expect(other.locator("[data-test=session-line]")).to_have_count(1)
    page.get_by_label("State").select_option("away")
    expect(line.locator(".line-topic")).to_have_text("Which cache?")
    page.get_by_label("Tags", exact=True).select_option("2027")
    expect(page).to_have_url(re.compile("state=away&tag=2027$"))
    expect(line).to_have_count(1)
    local("moot.labelSession", sessionId=first, isAway=False)
    local("moot.forkSession", sessionId=first)
    expect(other.locator(".group-of.decided [data-test=session-line]")).to_have_count(2)
    expect(other.get_by_text(re.compile("^ ?fork · Structured debate"))).to_have_count(1)
    page.goto(f"/s/{first}")
    page.get_by_role("link", name="Ask again with changes").click()
    expect(page.get_by_label("The question", exact=True)).to_have_value("Which cache?")
    expect(page.locator(".seat-editor [role=group]")).to_have_count(
        len(local("moot.getView", sessionId=first)["seats"])
    )
    page.get_by_label("Name of the panel").fill("Our three")
    page.get_by_role("button", name="Save these seats as a panel").click()
    expect(page.get_by_role("radio", name=re.compile("Our three"))).to_be_checked()


def test_my_turn_is_said_on_every_view_and_a_link_only_reads(server: Server, visit: Visit) -> None:
    """W-5, W-7: header, title, icon and notification, wherever I look; a read-only link until it is revoked."""
    local = server.local
    session = local.opened(topic="Do we move?", participants=["ada", "bob"])
    page = visit(server, f"/seat/{session}/ada", forgiven=["404"])
    page.context.add_init_script(KEEP_NOTICES)
    expect(page.get_by_role("heading", name="You sit as ada")).to_be_visible()
    page.goto("/decisions")
    turns = page.locator(".turns")
    expect(turns).to_have_text("● 1 waiting for you")
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("c0392b"))
    local.say(session, "ada", "propose", choice="yes")
    expect(turns).to_have_count(0)
    page.evaluate(HIDE, True)
    local.say(session, "bob", "propose", choice="no")
    expect(turns).to_have_count(1)
    assert page.evaluate("window.notices.at(-1)") == ["It is your turn, ada", "Do we move?"]
    page.evaluate(HIDE, False)
    turns.click()
    expect(page.get_by_role("heading", name="You sit as ada")).to_be_visible()

    page.goto(f"/s/{session}?lens=about")
    # Without a clipboard, as over plain http, also from within a dialog.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.evaluate("addEventListener('copy', () => (window.copied = document.activeElement.value))")
    page.get_by_role("button", name="Invite").click()
    page.get_by_role("button", name="Make the invitation").click()
    page.get_by_role("button", name="Copy: Link for a person").click()
    expect(page.get_by_role("button", name="Copy: Link for a person")).to_have_text("Copied")
    assert "#ticket=" in page.evaluate("window.copied")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Make a read-only link").click()
    link = page.locator(".copyable pre").inner_text().strip()
    reader = visit(server, link, is_nobody=True, forgiven=["40[13]"])
    expect(reader.get_by_role("region", name="Timeline")).to_contain_text("ada propose")
    assert "ticket" not in reader.url
    expect(reader.get_by_role("button", name="Conclude now")).to_have_count(0)
    page.goto("/nowhere")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    page.goto("/settings")
    row = page.get_by_role("row").filter(has_text=session).filter(has_text="observer")
    row.get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    reader.goto(f"/s/{session}")
    expect(reader.get_by_role("heading", name="Your access here has ended")).to_be_visible()
