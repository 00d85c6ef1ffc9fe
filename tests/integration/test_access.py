"""D-6: who comes in is who they say: tokens are recognised, run out and are revoked; the ledger holds no secret."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from moothall.domain.ids import SessionId
from moothall.errors import BadName, BadSetting, UnknownToken
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.memory.tokens import (
    MAX_LOGINS_PER_TOKEN,
    AccessDenied,
    Identity,
    IssuedToken,
    Token,
    TokenStore,
)
from moothall_testkit.ledger_scenes import expect_error, run_with_deadline

START = datetime(2025, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class Hands:
    """A clock whose hands the test moves."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> datetime:
        return self.at


def test_a_token_is_recognised_after_a_reopen_until_it_expires(tmp_path: Path) -> None:
    async def work() -> None:
        hands = Hands()
        async with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
            issued = await TokenStore(ledger, hands).issue(
                "seat", session="s1", seat="ada", lasts=DAY, note="for Ada"
            )
        async with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
            access = TokenStore(ledger, hands)
            assert await access.identify(issued.secret) == Identity(
                id=issued.id, role="seat", session="s1", seat="ada"
            )
            hands.at += DAY
            assert await access.identify(issued.secret) == AccessDenied(
                reason="expired", id=issued.id
            )

    run_with_deadline(work())


def test_a_secret_is_long_and_shown_once() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        issued = await TokenStore(ledger, Hands()).issue("owner", lasts=DAY)
        mark, name, secret = issued.secret.split("_", 2)
        assert (mark, name, len(secret)) == ("moot", issued.id, 43)
        assert re.fullmatch("[0-9a-f]{8}", issued.id)
        assert secret not in repr(issued)
        assert all(
            secret.encode() not in record.body for record in await ledger.read(SessionId("_access"))
        )

    run_with_deadline(work())


def test_a_revoked_token_opens_nothing_wherever_it_was_revoked() -> None:
    async def work() -> None:
        ledger, hands = MemoryLedger(), Hands()
        one, two = TokenStore(ledger, hands), TokenStore(ledger, hands)
        issued = await one.issue("observer", session="s1", lasts=DAY)
        assert await two.identify(issued.secret) == Identity(
            id=issued.id, role="observer", session="s1"
        )
        assert (await two.revoke(issued.id)).revoked_at == START
        await two.revoke(issued.id)
        assert await one.identify(issued.secret) == AccessDenied(reason="revoked", id=issued.id)
        assert len(await ledger.read(SessionId("_access"))) == 2
        await expect_error(UnknownToken, one.revoke("nope"))

    run_with_deadline(work())


@pytest.mark.parametrize(
    "change",
    [
        "",
        "moot_",
        "moot__",
        "x",
        "{id}",
        "moot_{id}_",
        "moot_{id}_x",
        "{secret}x",
        "moot_0_{secret}",
        "\ud800",
    ],
)
def test_what_is_not_the_secret_is_unknown(change: str) -> None:
    async def work() -> None:
        access = TokenStore(MemoryLedger(), Hands())
        issued = await access.issue("owner", lasts=DAY)
        assert await access.identify(
            change.format(id=issued.id, secret=issued.secret)
        ) == AccessDenied(reason="unknown")

    run_with_deadline(work())


def test_that_a_token_expired_is_told_to_its_holder_only() -> None:
    async def work() -> None:
        hands = Hands()
        access = TokenStore(MemoryLedger(), hands)
        issued = await access.issue("owner", lasts=DAY)
        hands.at += 2 * DAY
        assert await access.identify(f"moot_{issued.id}_guess") == AccessDenied(reason="unknown")

    run_with_deadline(work())


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "king"},
        {"role": "seat"},
        {"role": "seat", "session": "s1"},
        {"role": "seat", "seat": "ada"},
        {"role": "owner", "seat": "ada"},
        {"role": "agent"},
        {"role": "agent", "seat": "ada", "session": "s1"},
        {"role": "owner", "lasts": timedelta(0)},
        {"role": "owner", "lasts": timedelta(days=10_000)},
        {"role": "owner", "note": "x" * 4_001},
    ],
)
def test_a_token_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        await expect_error(
            BadSetting, TokenStore(ledger, Hands()).issue(**{"lasts": DAY, **fields})
        )
        await expect_error(
            BadName, TokenStore(ledger, Hands()).issue("owner", session="_memory", lasts=DAY)
        )
        assert await ledger.read(SessionId("_access")) == []

    run_with_deadline(work())


def test_tokens_are_listed_without_their_digests() -> None:
    async def work() -> None:
        access = TokenStore(MemoryLedger(), Hands())
        issued = [await access.issue("owner", lasts=DAY, note=str(number)) for number in range(3)]
        listed = await access.tokens()
        assert [(token.id, token.note, token.expires) for token in listed] == [
            (one.id, str(number), START + DAY) for number, one in enumerate(issued)
        ]
        assert not hasattr(listed[0], "digest")

    run_with_deadline(work())


def test_a_ticket_opens_one_login_with_the_rights_of_its_token(tmp_path: Path) -> None:
    """W-7: once, and for as long as its token; also after a restart. The ledger holds neither secret."""

    async def work() -> None:
        hands = Hands()
        async with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
            access = TokenStore(ledger, hands)
            token = await access.issue("seat", session="s1", seat="ada", lasts=2 * DAY)
            ticket = await access.issue_ticket(token.id)
            login = await access.log_in(ticket.secret)
            assert isinstance(login, IssuedToken)
            assert await access.log_in(ticket.secret) == AccessDenied(reason="unknown")
            assert await access.identify(ticket.secret) == AccessDenied(reason="unknown")
            stored = b"".join(record.body for record in await ledger.read(SessionId("_access")))
            assert all(each.secret.encode() not in stored for each in (token, ticket, login))
        async with SqliteLedger(tmp_path / "ledger.sqlite") as ledger:
            access = TokenStore(ledger, hands)
            assert await access.identify(login.secret) == Identity(
                id=token.id, role="seat", session="s1", seat="ada"
            )
            assert await access.log_in(login.secret) == AccessDenied(reason="unknown")
            hands.at += 2 * DAY
            assert await access.identify(login.secret) == AccessDenied(
                reason="expired", id=token.id
            )

    run_with_deadline(work())


def test_a_token_has_a_bounded_number_of_logins() -> None:
    """W-7: the oldest ends; those of other tokens go on."""

    async def work() -> None:
        access = TokenStore(MemoryLedger(), Hands())
        mine, other = (
            await access.issue("observer", lasts=DAY),
            await access.issue("observer", lasts=DAY),
        )
        theirs = await access.log_in(other.secret)
        logins = [await access.log_in(mine.secret) for _ in range(MAX_LOGINS_PER_TOKEN + 2)]
        assert all(isinstance(each, IssuedToken) for each in (*logins, theirs))
        found = await access.identify_all(
            each.secret for each in (*logins, theirs) if isinstance(each, IssuedToken)
        )
        assert [isinstance(each, Identity) for each in found.values()] == [
            False,
            False,
            *[True] * (MAX_LOGINS_PER_TOKEN + 1),
        ]

    run_with_deadline(work())


def test_what_a_secret_would_give_is_seen_without_a_login() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        access = TokenStore(ledger, Hands())
        token = await access.issue("observer", lasts=DAY)
        ticket = await access.issue_ticket(token.id)
        before = await ledger.heads()
        for secret in (token.secret, ticket.secret):
            found = await access.find_token(secret)
            assert isinstance(found, Token)
            assert found.id == token.id
        assert await access.find_token(f"{token.secret}x") == AccessDenied(reason="unknown")
        assert await ledger.heads() == before

    run_with_deadline(work())


def test_a_ticket_is_short_lived_and_ends_with_its_token() -> None:
    """W-7."""

    async def work() -> None:
        hands = Hands()
        access = TokenStore(MemoryLedger(), hands)
        token = await access.issue("owner", lasts=DAY)
        late, revoked = (
            await access.issue_ticket(token.id),
            await access.issue_ticket(token.id, DAY),
        )
        by_token = await access.log_in(token.secret)
        assert isinstance(by_token, IssuedToken)
        hands.at += timedelta(minutes=15)
        assert await access.log_in(late.secret) == AccessDenied(reason="expired", id=token.id)
        await access.revoke(token.id)
        assert await access.log_in(revoked.secret) == AccessDenied(reason="revoked", id=token.id)
        assert await access.identify(by_token.secret) == AccessDenied(reason="revoked", id=token.id)
        await expect_error(UnknownToken, access.issue_ticket(token.id))
        await expect_error(UnknownToken, access.issue_ticket("nope"))
        await expect_error(BadSetting, access.issue_ticket(token.id, timedelta(0)))

    run_with_deadline(work())


def test_who_logs_out_is_out_and_nobody_else_is() -> None:
    """W-7."""

    async def work() -> None:
        access = TokenStore(MemoryLedger(), Hands())
        token = await access.issue("owner", lasts=DAY)
        one, two = await access.log_in(token.secret), await access.log_in(token.secret)
        assert isinstance(one, IssuedToken)
        assert isinstance(two, IssuedToken)
        await access.log_out(f"{one.secret}x")
        assert isinstance(await access.identify(one.secret), Identity)
        await access.log_out(one.secret)
        await access.log_out("")
        assert await access.identify(one.secret) == AccessDenied(reason="unknown")
        assert isinstance(await access.identify(two.secret), Identity)

    run_with_deadline(work())


def test_of_many_who_bring_one_ticket_at_once_one_is_let_in() -> None:
    """W-7: also from two processes."""

    async def work() -> None:
        ledger, hands = MemoryLedger(), Hands()
        stores = [TokenStore(ledger, hands) for _ in range(5)]
        token = await stores[0].issue("owner", lasts=DAY)
        ticket = await stores[0].issue_ticket(token.id)
        found = await asyncio.gather(*(store.log_in(ticket.secret) for store in stores))
        assert sum(isinstance(each, IssuedToken) for each in found) == 1

    run_with_deadline(work())
