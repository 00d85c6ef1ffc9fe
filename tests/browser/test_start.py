"""A first look at the page (W-1)."""

from playwright.sync_api import expect
from tests.acceptance.server import Server
from tests.browser.pages import Visit


def test_an_empty_home_offers_a_question_and_demos(server: Server, visit: Visit) -> None:
    """W-1."""
    page = visit(server)
    expect(page.get_by_role("heading", name="Put a question before a group of minds.")).to_be_visible()
