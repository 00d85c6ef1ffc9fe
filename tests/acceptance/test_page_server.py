"""The page as `moot serve` serves it: files, login, the stream and its doors, over real HTTP (W-7, W-9)."""

import gzip
import http.client
import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, until
from tests.acceptance.server import DEADLINE, SEATS, Answer, Client, Server

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types moot-quote"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    with Server(Cli(folder / "home", folder), "--log-level", "info") as found:
        yield found


def post(client: Client, path: str, body: object, **headers: str) -> Answer:
    return client.request("POST", path, json.dumps(body).encode(), **headers)


def log_in(server: Server, secret: str, name: str = "ticket") -> Client:
    """A browser that has logged in: a client with its cookie and the headers that its page sends."""
    found = post(server.nobody, "/login", {name: secret}, origin=f"http://{server.address}")
    assert found.status == 204, found.body
    cookie, *rest = found.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(rest)
    return Client(server.address, headers={"Cookie": cookie, "Origin": f"http://{server.address}"})


def parse_ticket(link: str) -> str:
    return link.partition("#ticket=")[2]


class Stream:
    """The page's stream, event by event."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def next(self) -> tuple[str, str, Any]:
        """The id, the kind and the data of the next event but the beats; raises ConnectionError when the stream ends."""
        fields: dict[str, str] = {}
        while True:
            line = self._response.readline()
            if not line:
                raise ConnectionError("the stream ended")
            text = line.decode().rstrip("\n")
            if not text and fields.get("event") == "beat":
                fields = {}
            elif not text and "event" in fields:
                return fields["id"], fields["event"], json.loads(fields["data"])
            if text and not text.startswith(":"):
                name, _, value = text.partition(": ")
                fields[name] = value

    def until(self, kind: str, **wanted: Any) -> list[tuple[str, str, Any]]:
        found = [self.next()]
        while found[-1][1] != kind or any(
            found[-1][2].get(name) != value for name, value in wanted.items()
        ):
            found.append(self.next())
        return found

    def rest(self) -> list[tuple[str, str, Any]]:
        found = []
        try:
            while True:
                found.append(self.next())
        except (ConnectionError, http.client.HTTPException):
            return found


@contextmanager
def streamed(client: Client, *sessions: str, after: str = "") -> Iterator[Stream]:
    headers = dict(client.headers)
    if client.token:
        headers["Authorization"] = f"Bearer {client.token}"
    if after:
        headers["Last-Event-ID"] = after
    link = http.client.HTTPConnection(client.address, timeout=DEADLINE)
    try:
        link.request(
            "GET", "/events?" + "&".join(f"session={each}" for each in sessions), headers=headers
        )
        found = link.getresponse()
        assert found.status == 200, found.read()
        assert found.getheader("content-type", "").startswith("text/event-stream")
        yield Stream(found)
    finally:
        link.close()


def test_files_are_gzipped_and_only_hashed_addresses_are_stored_for_ever(server: Server) -> None:
    """W-1: a link to an entry is a page that changes with the next version; what callers are answered is stored nowhere."""
    home = server.local.get("/s/think_1?entry=3")
    assert home.headers["cache-control"] == "no-cache"
    named = re.findall(r'"(/page/[^"]+)"', home.body.decode())
    assert {path.partition("?")[0] for path in named} == {
        "/page/app.js",
        "/page/app.css",
        "/page/early.js",
    }
    for path in named:
        plain, zipped = (
            server.local.get(path),
            server.local.get(path, accept_encoding="br, gzip;q=0.8"),
        )
        assert "content-encoding" not in plain.headers
        assert (zipped.headers["content-encoding"], zipped.headers["vary"]) == (
            "gzip",
            "Accept-Encoding",
        )
        assert gzip.decompress(zipped.body) == plain.body
        assert "immutable" in plain.headers["cache-control"]
        for other in (path.partition("?")[0], f"{path}0", path.partition("?")[0] + "?at=3"):
            assert server.local.get(other).headers["cache-control"] == "no-cache", other
    assert (
        "content-encoding"
        not in server.local.get(named[0], accept_encoding="gzip;q=0, identity").headers
    )
    for method, is_large in (("moot.listBreakers", False), ("rpc.discover", True)):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        found = server.local.post(json.dumps(request).encode(), accept_encoding="gzip")
        assert found.headers["cache-control"] == "no-store"
        assert ("content-encoding" in found.headers) == is_large
        assert json.loads(gzip.decompress(found.body) if is_large else found.body)["id"] == 1


def test_the_page_is_served_with_a_strict_policy_and_by_its_tag(server: Server) -> None:
    """W-7: every path of the app is the same file; nothing else can be reached by a name."""
    home = server.local.get("/")
    assert (home.status, home.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for path in (
        "/s/think_1",
        "/new",
        "/decisions?q=x",
        "/decisions/d1",
        "/trust/a/b",
        "/seat/s1/ada",
        "/login",
        "/obligations",
    ):
        found = server.local.get(path)
        assert (found.status, found.body) == (200, home.body), path
    assert server.local.get("/", if_none_match=home.headers["etag"]).status == 304
    for path in (
        "/page/..%2fapp.py",
        "/page/%2e%2e/app.py",
        "/page/nothing.js",
        "/page/",
        "/s/",
        "/elsewhere",
    ):
        assert server.local.get(path).status == 404, path
    lost = server.local.request("POST", "/rcp", b"{}")
    assert (lost.status, "calls go to /rpc" in lost.body.decode()) == (404, True)
    for path in ("/", "/me", "/healthz", "/page/nothing.js"):
        headers = server.local.get(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == (
            "nosniff",
            "no-referrer",
        )
        assert (
            headers["cross-origin-opener-policy"]
            == headers["cross-origin-resource-policy"]
            == "same-origin"
        )
    assert re.search(r"<script(?![^>]*src=)|<style|\son\w+=", home.body.decode()) is None


def test_the_link_that_serve_prints_signs_a_browser_in_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """W-7: with all rights of whoever runs it; no log has the ticket."""
    folder = tmp_path_factory.mktemp("own")
    with Server(Cli(folder / "home", folder), "--log-level", "debug") as own:
        own.stop()
        own.start()
        own.stop()
        link = re.findall(r"Open in a browser: (\S+)", own.said)[-1]
        own.start()
        assert link.startswith(f"http://{own.address}/#ticket=")
        browser = log_in(own, parse_ticket(link))
        me = browser.get("/me").json()
        assert (me["role"], me["session"], me["seat"]) == ("local", "", "")
        assert browser("moot.listSessions") == {"sessions": [], "total": 0}
        assert post(own.local, "/login", {"ticket": parse_ticket(link)}).status == 401
        assert parse_ticket(link) not in own.log.read_text()
        # However often it is started, the key is the one token that it needs.
        assert len(own.cli.json("invite", "--list")) == 1
        own.restart()
        assert browser.get("/me").json() == me
        assert post(browser, "/logout", {}).status == 204
        assert browser.get("/me").status == 401


def test_a_seats_link_sees_its_session_only(server: Server) -> None:
    """W-5, W-7: through every call and through the stream."""
    session, other = server.local.opened(), server.local.opened()
    invited = server.cli.json(
        "invite", session, "--seat", "minski", "--url", f"http://{server.address}"
    )
    assert f"/seat/{session}/minski#ticket=" in invited["link"]
    browser = log_in(server, parse_ticket(invited["link"]))
    who = browser.get("/me").json()
    assert who.pop("limits")["atOnce"] > 0
    assert who == {
        "role": "seat",
        "may": ["read", "speak"],
        "seat": "minski",
        "session": session,
        "name": "minski",
        "isInvited": True,
        "tokenId": invited["tokenId"],
        "grants": [{"session": session, "seat": "minski", "role": "seat"}],
    }
    view = browser("moot.getView", sessionId=session)
    assert view["may"] == ["answer:minski"]
    for method, params in (
        ("moot.getView", {"sessionId": other}),
        ("moot.getText", {"sessionId": other, "entry": 1}),
        ("moot.getView", {"sessionId": other, "at": 1}),
        ("moot.inviteSeat", {"sessionId": session, "seat": "emerson"}),
        ("moot.forkSession", {"sessionId": session, "at": 1}),
        ("moot.planSession", {"topic": "x", "seats": ["a", "b"]}),
    ):
        assert browser.refused(method, **params).kind == "NotAllowed", method
    assert browser.get(f"/events?session={other}").status == 403
    assert [each["sessionId"] for each in browser("moot.listSessions")["sessions"]] == [session]
    with streamed(browser) as stream:
        stream.until("view", sessionId=session)
        server.local.say(other, "emerson", "propose")
        server.local.say(session, "emerson", "propose")
        found = stream.until("line", sessionId=session)
        assert {data["sessionId"] for _, _, data in found} == {session}


def test_a_foreign_origin_gets_nothing(server: Server) -> None:
    """W-7: neither with a cookie nor without; a cookie changes nothing without the origin of the server."""
    browser = log_in(server, server.cli.json("invite", "--owner")["token"], "token")
    request = {"jsonrpc": "2.0", "id": 1, "method": "moot.listSessions", "params": {}}
    cookie = {"cookie": browser.headers["Cookie"]}
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{server.address}.evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "origin": f"http://{server.address}x"},
    ):
        for path in ("/rpc", "/login", "/logout"):
            assert post(server.nobody, path, request, **headers, **cookie).status == 403, headers
        for path in ("/me", "/events", "/metrics", "/openrpc.json"):
            found = server.nobody.get(path, **headers, **cookie)
            assert found.status == 403, (path, headers)
            assert "access-control-allow-origin" not in found.headers
    assert post(server.nobody, "/rpc", request, **cookie).status == 403
    assert (
        post(server.nobody, "/rpc", request, sec_fetch_site="same-origin", **cookie).status == 200
    )
    assert post(browser, "/rpc", request).status == 200
    # A form of another site can send no JSON.
    assert server.nobody.request("POST", "/login", b"{}", content_type="text/plain").status == 415
    # A link on another page may open the page, and nothing else.
    opened = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert server.nobody.get("/", **opened).status == 200
    assert server.nobody.get("/me", **opened).status == 403


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b'{"ticket": 1}', b'{"ticket": ""}', b'{"a": "b"}', b"{" * 9_000]
)
def test_a_login_that_is_none_says_what_was_expected(server: Server, body: bytes) -> None:
    """W-7."""
    found = server.local.request("POST", "/login", body)
    assert (found.status, "ticket" in found.json()["error"]) == (400, True)


def test_refused_logins_are_slowed_down(tmp_path_factory: pytest.TempPathFactory) -> None:
    """W-7: by address; who is right is let in all the same, but not without end."""
    folder = tmp_path_factory.mktemp("guessed")
    with Server(Cli(folder / "home", folder)) as own:
        token = own.cli.json("invite", "--owner")["token"]
        statuses = [
            post(own.local, "/login", {"token": f"{token}{number}"}).status for number in range(7)
        ]
        assert statuses[:5] == [401] * 5
        assert 429 in statuses[5:]
        assert own.local.get("/me").status == 200
        # Everybody on this machine has one address.
        assert log_in(own, token, "token").get("/me").json()["role"] == "owner"
        statuses = [post(own.nobody, "/login", {"token": token}).status for _ in range(12)]
        assert (statuses[0], statuses[-1]) == (204, 429)


def test_a_server_that_others_reach_shows_the_page_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """W-7: without a cookie every call is refused; with one it is not."""
    folder = tmp_path_factory.mktemp("public")
    cli = Cli(folder / "home", folder)
    token = cli.json("invite", "--observer")["token"]
    with Server(cli, "--host", "0.0.0.0") as own:
        assert own.nobody.get("/").status == 200
        for path in ("/me", "/events", "/metrics"):
            assert own.nobody.get(path).status == 401, path
        browser = log_in(own, token, "token")
        assert browser.get("/me").json()["role"] == "observer"
        assert browser("moot.listSessions") == {"sessions": [], "total": 0}


def test_a_revoked_token_ends_its_streams_and_its_login_within_seconds(server: Server) -> None:
    """W-7, W-9."""
    session = server.local.opened()
    issued = server.cli.json("invite", session, "--observer")
    browser = log_in(server, parse_ticket(issued["link"]))
    with streamed(browser, session) as stream:
        stream.until("view", sessionId=session)
        began = time.monotonic()
        server.cli("invite", "--revoke", issued["tokenId"])
        stream.rest()
        assert time.monotonic() - began < 20
    refused = browser.get("/me")
    assert refused.status == 401
    # However often it asks, it is told why; a person who reloads the page reads the reason again.
    again = browser.get("/me")
    assert [each.headers["moot-reason"] for each in (refused, again)] == ["revoked", "revoked"]


class Browser:
    """A browser that opens several links: it keeps all cookies, and says which session a call is about."""

    def __init__(self, server: Server) -> None:
        self.address = server.address
        self.cookies: dict[str, str] = {}

    def use(self, session: str = "", **headers: str) -> Client:
        kept = "; ".join(f"{name}={secret}" for name, secret in self.cookies.items())
        about = {"Moot-Session": session} if session else {}
        origin = f"http://{self.address}"
        return Client(self.address, headers={"Cookie": kept, "Origin": origin, **about, **headers})

    def open(self, link: str, **more: object) -> Answer:
        found = post(self.use(), "/login", {"ticket": parse_ticket(link), **more})
        if found.status == 204:
            name, _, secret = found.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = secret
        return found


def invite(server: Server, session: str, *whom: str) -> Any:
    return server.cli.json("invite", session, *whom, "--url", f"http://{server.address}")


def test_a_second_link_takes_nothing_from_the_first(server: Server) -> None:
    """W-7: each call is judged by the grant of its session, and one stream has the events of both."""
    first, second = server.local.opened(), server.local.opened()
    other = server.local.opened()
    browser = Browser(server)
    assert browser.open(invite(server, first, "--seat", "minski")["link"]).status == 204
    assert browser.open(invite(server, second, "--seat", "emerson")["link"]).status == 204
    for session, seat in ((first, "minski"), (second, "emerson")):
        tab = browser.use(session)
        me = tab.get("/me").json()
        assert (me["session"], me["seat"], len(me["grants"])) == (session, seat, 2)
        assert tab("moot.getView", sessionId=session)["may"] == [f"answer:{seat}"]
    with streamed(browser.use(), first, second, other) as stream:
        gone = stream.until("gone", sessionId=other)[-1][2]
        assert gone["reason"] == "other_meeting"
        for session, seat in ((first, "minski"), (second, "emerson")):
            server.local.say(session, seat, "propose")
            assert stream.until("view", sessionId=session)
    refused = browser.use(other).get(f"/events?session={other}")
    assert refused.status == 403
    # One link is withdrawn: that meeting says why, the other goes on.
    withdrawn = invite(server, second, "--seat", "emerson")
    assert browser.open(withdrawn["link"]).status == 204
    server.cli("invite", "--revoke", withdrawn["tokenId"])
    ended = browser.use(second).get("/me")
    assert (ended.status, ended.headers["moot-reason"]) == (403, "revoked")
    assert browser.use(first).get("/me").json()["seat"] == "minski"
    with streamed(browser.use(), first, second) as stream:
        assert stream.until("gone", sessionId=second)[-1][2]["reason"] == "revoked"
    # Who signs out of one meeting stays in the others.
    assert post(browser.use(first), "/logout", {}).status == 204
    assert browser.use(first).get("/me").status in {401, 403}


def test_what_a_link_would_take_away_is_asked_first(server: Server) -> None:
    """W-7: two seats of one meeting are refused, the owner is asked, and an unanswered question uses no link up."""
    session = server.local.opened()
    person = Browser(server)
    assert person.open(invite(server, session, "--seat", "minski")["link"]).status == 204
    seat = invite(server, session, "--seat", "emerson")["link"]
    reader = invite(server, session, "--observer")["link"]
    for link, kind in ((seat, "other_seat"), (reader, "weaker")):
        for more in ({}, {"isAgreed": True}):
            asked = person.open(link, **more)
            assert asked.status == 409
            assert asked.json()["conflict"]["kind"] == kind
            assert not asked.json()["conflict"]["mayGoOn"]
    assert "one person takes one seat" in person.open(seat).json()["error"]
    assert person.use(session).get("/me").json()["seat"] == "minski"
    # The links still open where they take nothing away.
    assert Browser(server).open(seat).status == 204

    owner = Browser(server)
    assert owner.open(server.cli.json("invite", "--owner")["link"]).status == 204
    asked = owner.open(reader)
    assert (asked.status, asked.json()["conflict"]["mayGoOn"]) == (409, True)
    assert owner.open(reader, isAgreed=True).status == 204
    # Every other tab is the owner's still; the one that says so uses the link.
    assert owner.use(session).get("/me").json()["role"] == "owner"
    by_link = owner.use(session, **{"Moot-As": "link"}).get("/me").json()
    assert by_link["role"] == "observer"
    another = owner.open(server.cli.json("invite", "--owner")["link"])
    assert (another.status, another.json()["conflict"]["kind"]) == (409, "replaces")


def test_a_browser_holds_a_bounded_number_of_links(server: Server) -> None:
    """W-7: one more is refused with a sentence, and cookies that are none of ours cost nothing."""
    session = server.local.opened()
    browser = Browser(server)
    for _ in range(20):
        assert (
            browser.open(invite(server, server.local.opened(), "--observer")["link"]).status == 204
        )
    full = browser.open(invite(server, session, "--seat", "minski")["link"])
    assert (full.status, full.json()["conflict"]["kind"]) == (409, "full")
    (name, secret), *_ = browser.cookies.items()
    browser.cookies = {f"{name}{at}": "x" * 300 for at in range(30)} | {name: secret}
    assert browser.use().get("/me").status == 200


def test_a_dropped_stream_goes_on_where_it_was_and_begins_anew_after_a_restart(
    server: Server,
) -> None:
    """W-9: by Last-Event-ID; `reset` where the server does not know it."""
    session = server.local.opened()
    with streamed(server.local, session) as stream:
        stream.until("view", sessionId=session)
        server.local.say(session, "emerson", "propose")
        seen = stream.until("view", sessionId=session, seq=3)
    server.local.say(session, "minski", "propose")
    with streamed(server.local, session, after=seen[-1][0]) as stream:
        missed = stream.until("view", sessionId=session, seq=4)
        assert "reset" not in {kind for _, kind, _ in missed}
        # Where nothing is missing yet, the first event says only which entry is the newest.
        told = [name for name, _, data in missed if "status" in data or "at" in data]
        assert told
        assert not set(told) & {name for name, _, _ in seen}
    server.kill()
    server.start()
    with streamed(server.local, session, after=missed[-1][0]) as stream:
        assert stream.next()[1] == "reset"
        assert stream.until("view", sessionId=session)[-1][2]["seq"] >= 4


def test_what_another_process_writes_is_on_the_stream_at_once(server: Server) -> None:
    """W-9: in the list and in the view; a new session as well."""
    session = server.local.opened()
    with streamed(server.local, session) as stream:
        stream.until("view", sessionId=session)
        server.cli("input", session, "One more thing.")
        found = stream.until("line", sessionId=session)
        while not any(
            kind == "view" and "One more thing." in json.dumps(data) for _, kind, data in found
        ):
            found.append(stream.next())
        created = server.local.opened()
        stream.until("line", sessionId=created)


def test_two_browsers_see_the_same_and_the_changes_lead_to_the_whole_view(server: Server) -> None:
    """W-9, W-2: who applies the changes to the first view has the last one."""
    session = server.local.opened()
    with streamed(server.local, session) as one, streamed(server.local, session) as two:
        for stream in (one, two):
            stream.until("view", sessionId=session)
        view = server.local("moot.getView", sessionId=session)
        for seat in SEATS:
            server.local.say(session, seat, "propose", text=f"{seat}'s plan")
        until(lambda: server.local("moot.getView", sessionId=session)["head"] >= 7)
        last = server.local("moot.getView", sessionId=session)
        told = [stream.until("view", seq=last["head"]) for stream in (one, two)]
        same = [[each for each in events if each[1] == "view"] for events in told]
        assert same[0] == same[1]
    items = dict(map(tuple, view["timeline"]["items"]))
    for _, _, data in same[0]:
        view |= {name: value for name, value in data.items() if name not in {"timeline", "seq"}}
        items |= dict(map(tuple, data.get("timeline", {}).get("items", ())))
    varying = {"timeline", "may", "waiting", "standing"}
    assert {name: value for name, value in view.items() if name not in varying} == {
        name: value for name, value in last.items() if name not in varying
    }
    assert items == dict(map(tuple, last["timeline"]["items"]))


def test_a_stream_says_what_each_caller_may_do(server: Server) -> None:
    """W-7, W-9: as `moot.getView` does; an operator all but to invite, a seat its own answer, an observer nothing."""
    session = server.local.opened()
    tokens = [
        server.cli.json("invite", *words)["token"]
        for words in (
            ("--owner",),
            ("--operator",),
            (session, "--seat", "minski"),
            (session, "--observer"),
        )
    ]
    callers = [server.client(token) for token in tokens]
    with ExitStack() as stack:
        streams = [stack.enter_context(streamed(caller, session)) for caller in callers]
        for stream in streams:
            stream.until("view", sessionId=session)
        server.local.say(session, "emerson", "propose")
        seen = []
        for stream in streams:
            data: dict[str, Any] = {}
            while "may" not in data:
                data = stream.until("view", sessionId=session)[-1][2]
            seen.append(data["may"])
    assert seen == [caller("moot.getView", sessionId=session)["may"] for caller in callers]
    owner, operator, seat, observer = seen
    assert {"invite", "fork", "close"} <= set(owner)
    assert operator == [each for each in owner if each != "invite"]
    assert (seat, observer) == (["answer:minski"], [])


def test_a_stream_of_an_unknown_session_says_so(server: Server) -> None:
    """W-9: and careless questions are answered with what was wrong."""
    with streamed(server.local, "nobody") as stream:
        assert stream.until("gone")[-1][2]["sessionId"] == "nobody"
    assert server.local.get("/events?session=a/b").status == 404
    many = "&".join(f"session=s{number}" for number in range(65))
    assert server.local.get(f"/events?{many}").status == 400


def test_streams_end_when_the_server_stops(tmp_path_factory: pytest.TempPathFactory) -> None:
    """W-9."""
    folder = tmp_path_factory.mktemp("stopped")
    with Server(Cli(folder / "home", folder)) as own:
        session = own.local.opened()
        with streamed(own.local, session) as stream:
            stream.until("view", sessionId=session)
            began = time.monotonic()
            own.stop()
            stream.rest()
            assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("program", "told"), [("open.sh", ""), ("nothing-here", "no browser could be opened")]
)
def test_serve_opens_the_page_in_the_browser_or_says_that_it_cannot(
    tmp_path: Path, program: str, told: str
) -> None:
    """W-7: with the link that signs it in."""
    script, opened = tmp_path / "open.sh", tmp_path / "opened.txt"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    script.chmod(0o755)
    with Server(
        Cli(tmp_path / "home", tmp_path, BROWSER=f"{tmp_path / program} %s", PATH="/nowhere"),
        "--open",
    ) as own:
        own.stop()
        assert told in own.logged()
        link = re.findall(r"Open in a browser: (\S+)", own.said)[0]
        if not told:
            until(opened.exists)
            assert opened.read_text() == link


def test_a_dry_run_tells_the_price_and_files_are_read_as_text(tmp_path: Path) -> None:
    """W-1: what is no text, is too large or is not there is refused with a sentence."""
    cli = Cli(tmp_path / "home", tmp_path)
    plan = tmp_path / "plan.md"
    plan.write_text("# Plan\nShip it.")
    words = (
        "run",
        "A or B?",
        "--seat",
        "a=openai:gpt-5-mini",
        "--seat",
        "b=mailbox",
        "--no-check",
        "--dry-run",
    )
    shown = cli(*words, "--file", str(plan)).out
    assert re.search(
        r"expected: \d+ – \d+ model calls \(\d+ – \d+ of them one after the other\), [\d,]+ – [\d,]+ tokens, \$0\.\d+ – \$0\.\d+",
        shown,
    )
    found = cli.json(*words, "--file", str(plan))
    (given,) = found["opened"]["subject"]["context"]
    assert (given["name"], given["text"], given["size"]) == ("plan.md", "# Plan\nShip it.", 15)
    assert found["calls"]["least"] >= 1
    (tmp_path / "picture.bin").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "large.txt").write_text("x" * 2_000_001)
    (tmp_path / "empty.txt").write_text("")
    for name, told in (
        ("picture.bin", "not a text file"),
        ("large.txt", "2000000"),
        ("empty.txt", "empty"),
        ("none.txt", "none.txt"),
    ):
        assert told in cli(*words, "--file", str(tmp_path / name), code=2).err, name
