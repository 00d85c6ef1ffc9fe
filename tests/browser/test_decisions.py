"""What outlives a session (W-6): decisions and how they turned out, obligations, trust, circuit breakers."""

import re

import pytest
from playwright.sync_api import expect
from tests.acceptance.server import CONDITION, HSM, SEATS, STEPS, Server
from tests.browser.pages import Visit

QUOTING = '"The river is deep" (notes.md:1), and "nobody ever wrote this" (notes.md:1).'
"""A quotation that stands there, and one that does not."""


@pytest.fixture(scope="module")
def decided(server: Server) -> str:
    """A decision with a condition, whose participants have a record."""
    return server.local.held(stakes="medium")


def test_an_outcome_is_reviewed_in_two_clicks_and_counts(
    server: Server, decided: str, visit: Visit
) -> None:
    """W-6: found by words, the trace from the question to the outcome, and trust with the case behind it."""
    page = visit(server, "/decisions")
    expect(page.get_by_role("link").filter(has_text=HSM["topic"])).to_contain_text(
        "obligations open"
    )
    page.get_by_label("Search decisions").fill("attention fallback")
    found = page.get_by_role("main").get_by_role("link")
    expect(found).to_have_count(1)
    page.get_by_label("Search decisions").fill("submarine sandwiches")
    expect(page.get_by_text("Nothing was decided about that.")).to_be_visible()
    page.get_by_label("Search decisions").fill("attention fallback")
    found.click()
    page.wait_for_url(f"**/decisions/{decided}")
    expect(page.get_by_role("heading", name=HSM["topic"])).to_be_visible()
    for seat in SEATS:
        expect(
            page.get_by_role("row").filter(has=page.get_by_role("link", name=seat, exact=True))
        ).to_be_visible()
    expect(page.locator(".choice")).to_contain_text("HSM for parallel + attention fallback")
    page.get_by_text(re.compile(r"^\d+ contributions$")).click()
    expect(
        page.locator(".said").get_by_text("No production benchmarks", exact=True)
    ).to_be_visible()
    expect(page.get_by_text("Nobody has said yet.")).to_be_visible()
    # In plain words: names of calls are for programs.
    expect(
        page.get_by_text("1 obligation is open. Was each met, waived or failed?")
    ).to_be_visible()
    assert "settle_obligation" not in page.content()
    page.get_by_role("radio", name="turned out well").click()
    page.get_by_role("button", name="Record the outcome").click()
    expect(page.locator(".tag.good").filter(has_text="turned out well")).to_be_visible()
    assert [
        each["outcome"] for each in server.local("cstp.getDecision", decisionId=decided)["reviews"]
    ] == ["success"]
    page.get_by_role("link", name="Trust", exact=True).click()
    row = page.get_by_role("main").get_by_role("link", name=re.compile("minski"))
    row.first.click()
    expect(page.get_by_role("main")).to_contain_text(HSM["topic"])
    page.goto("/decisions?outcome=success")
    expect(page.get_by_role("main").get_by_role("link")).to_have_count(1)
    page.goto("/decisions?outcome=failure")
    expect(page.get_by_text("No decision has that outcome.")).to_be_visible()
    page.get_by_label("Search decisions").fill("attention fallback")
    expect(page.get_by_text("Nothing was decided about that.")).to_be_visible()
    page.goto("/breakers")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.goto("/decisions/nothing_here")
    expect(page.get_by_role("alert")).to_contain_text("nothing_here")


def test_an_obligation_is_met_with_a_note(server: Server, decided: str, visit: Visit) -> None:
    """W-6: those that are due first; a second window sees it settled."""
    page = visit(server, "/obligations")
    line = page.locator("[data-test=obligation]").filter(has_text=CONDITION)
    expect(line).to_contain_text("code-reviewer")
    line.get_by_label("Note").fill("Benchmarks ran for a week.")
    line.get_by_role("button", name="Met").click()
    settled = page.get_by_role("region", name="Settled")
    expect(settled).to_contain_text(CONDITION)
    expect(settled).to_contain_text("Benchmarks ran for a week.")
    expect(page.get_by_text("Nothing is due.")).to_be_visible()
    found = server.local("cstp.listObligations")["obligations"]
    assert [(each["state"], each["note"]) for each in found] == [
        ("met", "Benchmarks ran for a week.")
    ]
    page.get_by_role("link", name=HSM["topic"]).click()
    expect(page.locator("[data-test=obligation]")).to_contain_text("met")
    expect(page.get_by_text("obligation is open")).to_have_count(0)


def test_trust_says_how_many_quotations_held(server: Server, visit: Visit) -> None:
    """E-4: in the table and on the page of a participant, beside how often it was right."""
    files, seats = (
        [{"name": "notes.md", "text": "The river is deep.\n"}],
        [{"id": seat} for seat in SEATS],
    )
    opened = server.local(
        "moot.openSession", topic="How deep is it?", protocol="debate", seats=seats, files=files
    )
    session = opened["sessionId"]
    # What the owner says for a seat does not count for it.
    minski = server.client(server.cli.json("invite", session, "--seat", "minski")["token"])
    for seat, words in STEPS:
        quoting = {"text": QUOTING} if seat == "minski" and "text" in words else {}
        client = minski if seat == "minski" else server.local
        client("cstp.contribute", deliberationId=session, participant=seat, **{**words, **quoting})
    server.local("cstp.reviewDecision", decisionId=session, outcome="success")
    page = visit(server, "/trust")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=re.compile("minski")))
    expect(row).to_contain_text("50 % (2)")
    row.get_by_role("link").click()
    expect(
        page.locator(".figure", has_text="quotations that stand where they are said to")
    ).to_contain_text("50 % (2)")
