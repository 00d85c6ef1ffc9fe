"""Q-1: what a question asks for is shown before its session opens, and may be changed there."""

from playwright.sync_api import expect
from tests.acceptance.server import Server
from tests.browser.pages import Visit


def test_the_answers_are_shown_and_changed_before_the_session_opens(
    server: Server, visit: Visit
) -> None:
    """Q-1, W-1: taken as they stand, others, a kind, or none."""
    page = visit(server, "/new?topic=Postgres or a document database for a small clinic?")
    page.get_by_role("radio", name="Seats of my own").check()
    answers = page.get_by_role("region", name="The answers")
    kind = answers.get_by_label("Kind of question")
    listed = answers.get_by_label("Answers, one on each line")
    expect(kind).to_have_value("choice")
    expect(listed).to_have_value("Postgres\ndocument database")
    listed.fill("Postgres\na paper file")
    page.get_by_role("radio", name="Debate").check()
    page.get_by_role("button", name="Start the session").click()
    page.wait_for_url("**/s/*")
    session = page.url.rpartition("/")[2]
    view = server.local("moot.getView", sessionId=session, limit=1)
    assert view["options"] == ["Postgres", "a paper file"]
    page.goto("/new?topic=Postgres or a document database for a small clinic?")
    kind.select_option("off")
    expect(listed).to_have_count(0)
    kind.select_option("number")
    expect(kind).to_have_value("number")
    page.get_by_role("radio", name="Pipeline").check()
    expect(answers).to_have_count(0)
