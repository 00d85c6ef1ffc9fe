"""Receivers of notices: the private file that lists them, and how a notice is sent: a signed webhook (standardwebhooks.com), or
a message by chat or mail."""

import asyncio
import base64
import hmac
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from moothall.disk.private import hold_lock, make_private_folder, read_private, write_private
from moothall.domain.roster import StandIn
from moothall.domain.safe_text import is_web_address
from moothall.errors import FolderUnwritable
from moothall.features.notices.chat import check_chat_address, send_chat_message
from moothall.features.notices.register import EventKind, NoticeId
from moothall.participants.hosts import is_private_host, resolve_host, send_request
from moothall.plugins import BadSetting, Language, get_adapter

FILE: Final = "notices.json"
SEND_SECONDS: Final = 10.0
"""How long a receiver may take in all."""
KEY_PREFIX: Final = "whsec_"
MAX_URL_LENGTH: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A receiver: where it is, the key by which it knows us, and what it gets."""

    id: str
    url: str
    secret: str
    """Empty for chat and mail, which sign nothing."""
    since: datetime
    """What happened before is not sent."""
    session: str = ""
    seat: str = ""
    """Only turns of this seat, and what becomes of the sessions that it sits in."""
    events: tuple[EventKind, ...] = ()
    """Empty: all."""
    page: str
    """Where links lead: the address of the server."""
    language: Language = "en"
    """Of notices that belong to no session."""
    is_private: bool = False
    """Whether it may be on this machine or in a private network."""

    @property
    def place(self) -> str:
        """Where it is, without what may be a secret: the path, and all of an address of chat or mail."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{'…' if self.is_chat else parts.netloc}"

    @property
    def is_chat(self) -> bool:
        """Whether it gets messages by chat or mail, and no webhook."""
        return is_chat_address(self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a receiver gets."""

    id: NoticeId
    at: datetime
    text: str
    link: str
    topic: str = ""
    language: str = "en"
    status: str = ""
    demo: str = ""
    """The name of the demo that the session plays: nobody meant it."""
    stand_in: StandIn = ""
    """What speaks in the session in place of minds."""


def load_hooks(home: Path) -> list[Hook]:
    """The receivers of a home; raises BadSetting or FolderUnwritable."""
    try:
        text = read_private(home / FILE)
        if text is None and (home / FILE).exists():
            raise BadSetting(
                f"{home / FILE} holds secrets and is open to other users; close it: chmod 600 {home / FILE}"
            )
        hooks: list[Hook] = [] if text is None else get_adapter(list[Hook]).validate_json(text)
    except ValueError as cause:
        # Without what is wrong: that would show keys.
        raise BadSetting(
            f"{home / FILE} is not the list of receivers that Moot writes; move it away, add them anew"
        ) from cause
    except OSError as cause:
        raise FolderUnwritable(f"{home / FILE} cannot be read ({cause.strerror})") from cause
    return hooks


def find_hook(home: Path, name: str) -> Hook:
    """The receiver of an id; raises BadSetting."""
    hooks = {hook.id: hook for hook in load_hooks(home)}
    if name not in hooks:
        raise BadSetting(
            f"no receiver is called {name[:100]!r}; the receivers are: {', '.join(hooks) or 'none yet'}"
        )
    return hooks[name]


def change_hooks(home: Path, change: Callable[[list[Hook]], Sequence[Hook]]) -> None:
    """Store the receivers after a change; raises SessionBusy or FolderUnwritable."""
    make_private_folder(home)
    with hold_lock(home / f"{FILE}.lock", "another process changes the receivers; try again"):
        hooks = list(change(load_hooks(home)))
        try:
            write_private(
                home / FILE, get_adapter(list[Hook]).dump_json(hooks, indent=1).decode(), over=True
            )
        except OSError as cause:
            raise FolderUnwritable(f"{home / FILE} cannot be written ({cause.strerror})") from cause


def parse_address(url: str) -> str:
    """An address that notices or links may have; raises BadSetting."""
    if not is_web_address(url) or len(url) > MAX_URL_LENGTH:
        raise BadSetting(
            f"{url[:100]!r} is not an address; expected https://HOST/PATH, without a name or password in it"
        )
    return url.rstrip("/")


def is_chat_address(url: str) -> bool:
    scheme, mark, _ = url.partition("://")
    return bool(mark) and scheme.lower() not in {"http", "https"}


def parse_receiver(url: str, *, is_private: bool) -> str:
    """The address of a receiver: of a webhook, or of chat or mail. Raises BadSetting or MissingExtra."""
    if not is_chat_address(url) or len(url) > MAX_URL_LENGTH:
        address = parse_address(url)
        _check_place(address, is_private=is_private)
        return address
    check_chat_address(url, is_private=is_private)
    return url


def _check_place(address: str, *, is_private: bool) -> None:
    """Refuse a webhook that would never be delivered to, or in clear text over the network; raises BadSetting."""
    # What `private` allows is looked at when a notice is sent: a name may lead elsewhere by then.
    if is_private:
        return
    parts = urlsplit(address)
    host = parts.hostname or ""
    if is_private_host(host):
        raise BadSetting(
            f"{host} is on this machine or in a private network; add it with --private if that is meant"
        )
    if parts.scheme == "http":
        raise BadSetting(
            f"http://{host} would be sent words of participants in clear text; give https://, or --private for an address "
            "in a private network"
        )


def sign_notice(secret: str, name: str, timestamp: int, body: bytes) -> str:
    """The signature over id, time and body, as standardwebhooks.com defines it."""
    key = base64.b64decode(secret.removeprefix(KEY_PREFIX))
    digest = hmac.digest(key, f"{name}.{timestamp}.".encode() + body, sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


async def deliver(hook: Hook, notice: Notice) -> str:
    """Send a notice once; why it was not taken, "" if it was. Nothing of an answer is believed but its status."""
    if hook.is_chat:
        return await send_chat_message(
            hook.url, f"Moot: {notice.topic}" if notice.topic else "Moot", notice.text
        )
    try:
        async with asyncio.timeout(SEND_SECONDS):
            if await _leaves_in_clear(hook.url):
                return f"{hook.place} is outside of private networks, where http:// is read by others; add it with https://"
            status = await _post(hook, notice)
    except TimeoutError:
        return f"no answer within {SEND_SECONDS:g} s"
    except OSError as error:
        return str(error) or type(error).__name__
    except ValueError as error:
        return f"{error}; add it with --private if that is meant"
    # A redirect is not followed: it could lead to a place that the owner did not name.
    return "" if 200 <= status < 300 else f"the answer was {status}"


async def _leaves_in_clear(url: str) -> bool:
    """Whether a webhook would go out of private networks without encryption."""
    parts = urlsplit(url)
    if parts.scheme != "http":
        return False
    addresses = await resolve_host(parts.hostname or "", parts.port or 80)
    return not all(map(is_private_host, addresses))


def _encode_notice(notice: Notice) -> bytes:
    """Return the body of a webhook: the fields of the notice, with names of one form as in all JSON of Moot's."""
    name = notice.id
    encoded = asdict(notice)
    encoded |= {"id": name.text, "event": name.event}
    encoded |= {"session": name.session, "seq": name.seq, "seat": name.seat}
    encoded["standIn"] = encoded.pop("stand_in")
    return json.dumps(encoded, ensure_ascii=False, default=datetime.isoformat).encode()


async def _post(hook: Hook, notice: Notice) -> int:
    name, now, body = notice.id.text, int(time.time()), _encode_notice(notice)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(now),
        "webhook-signature": sign_notice(hook.secret, name, now, body),
    }
    async with send_request(
        "POST", hook.url, headers, content=body, is_private=hook.is_private
    ) as response:
        return response.status_code
