"""An address that is given with a question: bounded in size and time, and nowhere else than it says (N-8)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from moothall.app import given_files
from moothall.app.given_files import fetch_bytes
from moothall.errors import BadSetting
from moothall.participants.hosts import is_private_host

ALLOWED = {"MOOT_FETCH": "on"}


class Site(BaseHTTPRequestHandler):
    """Pages that a stranger might serve."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self._redirect("/page")
        elif self.path == "/away":
            self._redirect("http://elsewhere.example/page")
        elif self.path == "/port":
            self._redirect("http://127.0.0.1:1/page")
        elif self.path == "/round":
            self._redirect("/round")
        elif self.path == "/drip":
            self._drip()
        elif self.path == "/gzip":
            self._send(b"\x1f\x8b not asked for", ("Content-Encoding", "gzip"))
        else:
            self._send(b"The rent is 40,000.")

    def _redirect(self, goal: str) -> None:
        self.send_response(302)
        self.send_header("Location", goal)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(600):
                self.wfile.write(b".")
                time.sleep(0.1)
        except OSError:
            return

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def serve_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        site.daemon_threads = True
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_address[1]}"
        site.shutdown()


def test_an_address_is_read_and_followed_on_its_own_host() -> None:
    """E-1, N-8"""
    with serve_site() as base:
        assert fetch_bytes(f"{base}/page", ALLOWED, 100) == b"The rent is 40,000."
        assert fetch_bytes(f"{base}/moved", ALLOWED, 100) == b"The rent is 40,000."


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("away", "leads to another place, http://elsewhere.example/page: give that address"),
        ("port", "leads to another place, http://127.0.0.1:1/page"),
        ("round", "was redirected more than 5 times"),
        ("gzip", "answers compressed"),
        ("page", "is too large: more than 4 bytes"),
    ],
)
def test_what_leads_elsewhere_or_costs_too_much_is_a_sentence(path: str, said: str) -> None:
    """N-8"""
    with serve_site() as base, pytest.raises(BadSetting, match=said):
        fetch_bytes(f"{base}/{path}", ALLOWED, 4)


def test_a_server_that_sends_byte_by_byte_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """N-8: the deadline is that of the whole file."""
    monkeypatch.setattr(given_files, "FETCH_SECONDS", 0.5)
    with serve_site() as base, pytest.raises(BadSetting, match=r"was not read within 0\.5 s"):
        fetch_bytes(f"{base}/drip", ALLOWED, 10_000)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::",
        "localhost",
    ],
)
def test_an_address_that_leads_to_this_machine_or_its_network_is_private(address: str) -> None:
    """N-8: also by way of a gateway that translates."""
    assert is_private_host(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1", "example.org"],
)
def test_an_address_of_the_world_is_not_private(address: str) -> None:
    assert not is_private_host(address)
