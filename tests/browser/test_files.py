"""Files on the page where a session is opened (E-1), and addresses that lead nowhere (W-7)."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect
from tests.acceptance.server import Server
from tests.acceptance.test_given_files import build_pdf
from tests.browser.pages import Visit


def test_pdfs_and_folders_are_given_on_the_page(
    server: Server, visit: Visit, tmp_path: Path
) -> None:
    """E-1: a PDF's text is taken by the server, a folder without what is hidden; what has no text is refused in a sentence."""
    report = build_pdf("The dam holds forty days of rain.")
    (tmp_path / "dam.pdf").write_bytes(report)
    (tmp_path / "scan.pdf").write_bytes(build_pdf(""))
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\0\0")
    notes = tmp_path / "notes"
    (notes / ".git").mkdir(parents=True)
    (notes / ".git" / "config").write_text("hidden")
    (notes / "rain.md").write_text("Forty days.")
    page = visit(server, "/new")
    page.get_by_label("The question", exact=True).fill("Do we raise the dam?")
    page.get_by_role("radio", name=re.compile("^Structured debate")).check()
    page.get_by_role("radio", name="Seats of my own").check()
    page.locator("details.more summary").click()
    page.get_by_label("Files that everybody reads").set_input_files(
        [tmp_path / "dam.pdf", tmp_path / "photo.png"]
    )
    expect(page.get_by_role("alert")).to_have_text(
        re.compile("^photo.png is neither a text file in UTF-8 nor a PDF")
    )
    page.get_by_label("Files that everybody reads").set_input_files(tmp_path / "scan.pdf")
    expect(page.get_by_role("alert")).to_have_text(
        re.compile("scan.pdf holds no text, only pictures of pages")
    )
    page.get_by_label("or a whole folder").set_input_files(notes)
    expect(page.locator(".files li")).to_have_text(
        [re.compile("^dam.pdf 4. B"), re.compile("^notes/rain.md 11 B")]
    )
    page.get_by_role("button", name="Start the session").click()
    page.wait_for_url("**/s/*")
    page.locator(".given summary").click()
    session = page.url.rpartition("/")[2]
    given = server.local("moot.getView", sessionId=session)["context"]
    expect(page.locator(".given li")).to_have_text(
        [f"{each['name']} {each['size']} B {each['sha256'][:12]}" for each in given]
    )
    assert [each["name"] for each in given] == ["dam.pdf", "notes/rain.md"]
    opened = json.dumps(server.local("moot.getEntries", sessionId=session, limit=1))
    assert given[0]["sha256"] in opened


def test_an_address_that_leads_nowhere_says_what_to_do(server: Server, visit: Visit) -> None:
    """W-7: also to who is not signed in; signing in leads back to it, and never to another server."""
    page = visit(server, "/sesions/x", is_nobody=True, forgiven=["401", "404"])
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("/sesions/x is no address of this page.")
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.get_by_label("Token").fill(server.cli.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/sesions/x$"))
    expect(page.get_by_role("main").get_by_role("link", name="Sign in")).to_have_count(0)
    here = f"http://{server.address}/"
    for to, shown in (
        ("//evil.example/%2523ticket=x", here),
        (f"{here}/evil.example/x", f"{here}/evil.example/x"),
    ):
        page.goto(f"/login?to={to}")
        page.get_by_label("Token").fill(server.cli.key)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(shown)
    # Programs get the reason as before, and no secret path is opened by asking for a page.
    for path in ("/metrics", "/openrpc.json", "/events"):
        found = server.nobody.get(path, accept="text/html")
        assert (found.status, b'id="app"' in found.body) == (401, True), path
        assert server.nobody.get(path).json()["error"]["code"] == -32001
