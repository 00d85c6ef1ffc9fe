"""What the tests of the page say about pages: how one is opened, and what must not happen in it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request

Visit = Callable[..., Page]
"""`visit(server, path, **options)`; see conftest.py."""

KEEP_NOTICES = """
window.notices = [];
window.Notification = class {
  static permission = "granted";
  static requestPermission = async () => "granted";
  constructor(title, options) { window.notices.push([title, options.body]); }
};
"""
"""For an init script: notifications are allowed, and kept in `window.notices`."""
HIDE = "is => Object.defineProperty(document, 'hidden', { configurable: true, get: () => is })"
"""Whether another tab is in front of a page."""


@dataclass
class Watch:
    """What must not happen in pages; `forgiven` are patterns of what a test expects (a killed server, a refused call)."""

    origin: str
    forgiven: Sequence[str] = ()
    faults: list[str] = field(default_factory=list)

    def add(self, fault: str) -> None:
        if not any(re.search(each, fault) for each in self.forgiven):
            self.faults.append(fault)

    def hear_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "assert"}:
            self.add(f"console: {message.text} ({message.location.get('url', '')})")

    def see_exception(self, error: Error) -> None:
        self.add(f"exception: {error}")

    def see_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if (
            address.scheme not in {"data", "blob", "about"}
            and f"{address.scheme}://{address.netloc}" != self.origin
        ):
            self.add(f"request to another origin: {request.url}")


def read_session(page: Page) -> str:
    """The session in a page's address."""
    return urlsplit(page.url).path.split("/")[2]
