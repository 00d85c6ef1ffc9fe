"""A page of another origin, in the browser of somebody who is signed in, gets nothing (W-7)."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect
from tests.acceptance.server import Server
from tests.browser.pages import Visit

READ = """
async (server) => {
  const told = {};
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "moot.listSessions", params: {} });
  const post = (type, credentials) =>
    fetch(`${server}/rpc`, { method: "POST", credentials, headers: { "Content-Type": type }, body });
  const tries = {
    me: () => fetch(`${server}/me`, { credentials: "include" }),
    page: () => fetch(`${server}/`, { credentials: "include" }),
    script: () => fetch(`${server}/page/app.js`, { mode: "no-cors" }),
    json: () => post("application/json", "include"),
    plain: () => post("text/plain", "include"),
    bare: () => post("text/plain", "omit"),
  };
  for (const [name, attempt] of Object.entries(tries)) {
    told[name] = await attempt().then((response) => response.text(), (error) => `refused: ${error.name}`);
  }
  told.stream = await new Promise((resolve) => {
    const source = new EventSource(`${server}/events`, { withCredentials: true });
    source.onmessage = source.onopen = () => resolve("open");
    source.onerror = () => { source.close(); resolve("refused: EventSource"); };
  });
  return told;
}
"""
FRAME = """
(server) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.src = `${server}/`;
  frame.onload = () => {
    let words = "refused: frame";
    try { words = frame.contentDocument?.body.innerText ?? words; } catch {}
    resolve(words);
  };
  document.body.append(frame);
})
"""
POST = """
(server) => {
  const form = document.createElement("form");
  form.action = `${server}/rpc`;
  form.method = "POST";
  form.enctype = "text/plain";
  const field = document.createElement("input");
  // The well-known trick: JSON in the name of a field, and "=" within a text.
  field.name = '{"jsonrpc": "2.0", "id": 1, "method": "moot.giveInput", "params": {"sessionId": "SESSION", "text": "forged';
  field.value = '"}}';
  form.append(field);
  document.body.append(form);
  form.submit();
}
"""


class _Foreign(BaseHTTPRequestHandler):
    """A page that has nothing to do with Moot."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(
            b"<!doctype html><link rel=icon href=data:,><title>Elsewhere</title><p>Elsewhere</p>"
        )

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The address of another origin on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Foreign) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


@pytest.mark.parametrize("is_signed_in", [True, False])
def test_a_page_of_another_origin_gets_nothing(
    server: Server, visit: Visit, elsewhere: str, is_signed_in: bool
) -> None:
    """W-7: fetch, form, stream, script and frame; with the cookie of an owner, and as the caller without one on this machine."""
    session = server.local.opened(topic="A secret between us")
    head = server.local.head(session)
    origin = f"http://{server.address}"
    own = visit(server, forgiven=["40[19]"])
    if is_signed_in:
        own.goto(f"{origin}/login")
        own.get_by_label("Token").fill("moot_nonsense")
        own.get_by_role("button", name="Sign in").click()
        expect(own.get_by_role("alert")).to_contain_text("not valid")
        own.get_by_label("Token").fill(server.cli.json("invite", "--owner")["token"])
        own.get_by_role("button", name="Sign in").click()
        expect(own.get_by_text("Signing in with this link ends that.")).to_be_visible()
        own.get_by_role("button", name="Sign in").click()
        expect(own.get_by_role("button", name="Sign out")).to_be_visible()
    expect(own.get_by_text("A secret between us").first).to_be_visible()

    foreign = visit(server, elsewhere, context=own.context, forgiven=["."])
    told = foreign.evaluate(READ, origin)
    assert {name: text.startswith("refused: ") for name, text in told.items()} == dict.fromkeys(
        told, True
    ), told
    assert "secret" not in foreign.evaluate(FRAME, origin)
    assert all("secret" not in frame.content() for frame in foreign.frames)
    with foreign.expect_navigation():
        foreign.evaluate(POST.replace("SESSION", session), origin)
    assert "result" not in foreign.content()
    assert server.local.head(session) == head
    # A link may open the page. What it shows, no script of the other page can read.
    foreign.goto(elsewhere)
    with own.context.expect_page() as opened:
        foreign.evaluate("origin => { window.opened = window.open(origin); }", origin)
    expect(opened.value.get_by_text("A secret between us").first).to_be_visible()
    assert (
        foreign.evaluate(
            "() => { try { return window.opened.document.title; } catch { return 'refused'; } }"
        )
        != "Moot"
    )
