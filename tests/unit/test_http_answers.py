"""Status codes of what the server answers besides calls."""

from starlette.requests import Request

from moothall.errors import LedgerUnavailable, NotAllowed, UnknownSession
from moothall.surfaces.http.app import _refuse_stream
from moothall.surfaces.http.page_files import PageFiles


def ask(**headers: str) -> Request:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": raw})


def test_the_page_of_what_does_not_exist_is_not_found() -> None:
    """A crawler, and a program that follows a link, see it by the status; the page itself says why."""
    page = PageFiles()
    assert page.build_index(ask()).status_code == 200
    missing = page.build_index(ask(), status=404)
    assert missing.status_code == 404
    assert missing.body == page.build_index(ask()).body


def test_a_stream_is_refused_with_the_status_of_its_reason() -> None:
    """A-1: a client tells what is not there from what it may not see, and from what is down."""
    assert _refuse_stream(NotAllowed("not yours")).status_code == 403
    assert _refuse_stream(UnknownSession("no such session")).status_code == 404
    assert _refuse_stream(LedgerUnavailable("gone")).status_code == 503
