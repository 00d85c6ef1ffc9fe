"""Receivers of notices for programs: what `moot notify` does, as an object (G-8)."""

import asyncio
import base64
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, get_args

from moothall.app.environment import load_server_url
from moothall.errors import ProviderRefused
from moothall.features.notices.delivery import serve_notices
from moothall.features.notices.receivers import (
    KEY_PREFIX,
    Hook,
    Notice,
    change_hooks,
    deliver,
    find_hook,
    is_chat_address,
    load_hooks,
    parse_receiver,
)
from moothall.features.notices.register import TEST, EventKind, NoticeId, open_notice_register
from moothall.features.notices.words import NOTICES
from moothall.plugins import (
    BadSetting,
    Language,
    Moot,
    SessionId,
    parse_seat_id,
    parse_session_id,
    resolve_home,
)
from moothall.ports.ledger import is_claimed

EVENTS: Final[tuple[EventKind, ...]] = get_args(EventKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverState:
    """A receiver, and what became of its notices."""

    receiver: Hook
    delivered: int
    given_up: int
    is_served: bool
    """Whether a process delivers to it now."""


class Notices:
    """Who learns by webhook, chat or mail of turns, ends, outages and obligations in the ledger of a `Moot`.

    async with Moot() as moot, Notices(moot).deliver():
        receiver = Notices(moot).add("https://example.com/moot")
        …
    """

    def __init__(self, moot: Moot) -> None:
        self._moot = moot

    @property
    def _home(self) -> Path:
        return resolve_home(self._moot.environ)

    def add(
        self,
        address: str,
        *,
        session: str = "",
        seat: str = "",
        events: Sequence[EventKind] = (),
        owner: bool = False,
        page: str = "",
        language: Language = "en",
        private: bool = False,
    ) -> Hook:
        """Add a receiver, and return it with its key (`secret`), by which it knows the notices of this home.

        `owner` is all but the turns of seats. `page` is the address of your server, where links lead. `private`: it may be on
        this machine or in a private network. Raises BadSetting or MissingExtra.
        """
        if owner and (seat or events):
            raise BadSetting(
                "--owner is all but the turns of seats; give it without --seat and --event"
            )
        unknown = [each for each in events if each not in EVENTS]
        if unknown:
            raise BadSetting(f"events: {unknown[0]!r} is not one of: {', '.join(EVENTS)}")
        parse_receiver(address, is_private=private)
        wanted: tuple[EventKind, ...] = tuple(events)
        if owner:
            wanted = tuple(each for each in EVENTS if each != "turn")
        key = ""
        if not is_chat_address(address):
            key = KEY_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        # Parsed where they are given: a receiver of a session that cannot be would wait for ever.
        if session:
            session = parse_session_id(session)
        if seat:
            seat = parse_seat_id(seat)
        # What happened before this moment is not sent.
        now = datetime.now(UTC)
        hook = Hook(
            id=secrets.token_hex(4),
            url=address,
            secret=key,
            since=now,
            session=session,
            seat=seat,
            events=wanted,
            page=page or load_server_url(self._moot.environ),
            language=language,
            is_private=private,
        )
        change_hooks(self._home, lambda hooks: [*hooks, hook])
        return hook

    async def receivers(self) -> list[ReceiverState]:
        """Return the receivers, with how many notices reached them, and whether a process delivers to them now."""
        register = await open_notice_register(self._moot.ledger, self._moot.clock).state()
        states: list[ReceiverState] = []
        for hook in load_hooks(self._home):
            progress = register[hook.id]
            is_served = await is_claimed(self._moot.ledger, SessionId(f"_notices-{hook.id}"))
            states.append(
                ReceiverState(
                    receiver=hook,
                    delivered=progress.delivered,
                    given_up=progress.lost,
                    is_served=is_served,
                )
            )
        return states

    async def test(self, receiver: str) -> str:
        """Send a receiver a notice now, and return the id of the notice; raises BadSetting, and ProviderRefused if it was not taken."""
        hook = find_hook(self._home, receiver)
        text = NOTICES[hook.language].test.format(link=hook.page)
        now = datetime.now(UTC)
        notice = Notice(
            id=NoticeId(event=TEST, at=now),
            at=now,
            text=text,
            link=hook.page,
            language=hook.language,
        )
        if failure := await deliver(hook, notice):
            raise ProviderRefused(f"{hook.place} did not take the notice: {failure}")
        return notice.id.text

    def remove(self, receiver: str) -> Hook:
        """Remove a receiver: nothing more is sent to it. Raises BadSetting."""
        hook = find_hook(self._home, receiver)
        change_hooks(self._home, lambda hooks: [each for each in hooks if each.id != receiver])
        return hook

    @asynccontextmanager
    async def deliver(self) -> AsyncIterator[None]:
        """Deliver from this process while the block runs, as `moot serve` does: each notice once, whichever process sends it."""
        moot = self._moot
        # A task of its own: what fails in it is logged there, and must not end the block of the caller.
        task = asyncio.create_task(serve_notices(moot))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
