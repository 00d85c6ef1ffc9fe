"""Notices by mail and chat, against stand-ins on this machine: the same queue and record as those by webhook."""

import asyncio
import email
import email.policy
import json
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from tests.support.receiver import read_body

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.features.notices import chat as chat_messages
from moothall.features.notices import delivery as notices
from moothall.features.notices.receivers import Hook, Notice, change_hooks, deliver
from moothall.features.notices.register import NoticeId, open_notice_register

pytest.importorskip("apprise")


class MailServer:
    """Takes mail by SMTP; the first one it refuses, as a busy server does."""

    def __init__(self, *, refuses: int = 0) -> None:
        self.taken: list[EmailMessage] = []
        self.refuses = refuses
        self.tries = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 stand-in\r\n")
        while line := (await reader.readline()).decode().strip():
            word = line[:4].upper()
            if word == "EHLO":
                writer.write(b"250-stand-in\r\n250-SMTPUTF8\r\n250-8BITMIME\r\n250 AUTH PLAIN\r\n")
            elif word == "DATA":
                writer.write(b"354 go on\r\n")
                body = await reader.readuntil(b"\r\n.\r\n")
                self.tries += 1
                if self.tries > self.refuses:
                    self.taken.append(
                        email.message_from_bytes(body[:-3], policy=email.policy.default)
                    )
                writer.write(b"250 taken\r\n" if self.tries > self.refuses else b"451 busy\r\n")
            else:
                writer.write(
                    {"AUTH": b"235 hello\r\n", "QUIT": b"221 bye\r\n"}.get(word, b"250 ok\r\n")
                )
        writer.close()


def answer(brief: Brief) -> object:
    return {
        "type": "propose",
        "text": "We <b>keep</b> it, @all.",
        "choice": "keep",
        "confidence": 0.8,
    }


def read_text(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    assert part is not None
    return str(part.get_content())


def test_mail_comes_once_in_the_language_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """G-2: a mail server that is busy at first; one mail for the turn and one for the end, with links and without a secret."""
    monkeypatch.setattr(notices, "LOOK_SECONDS", 0.05)
    mail = MailServer(refuses=1)

    async def work() -> None:
        server = await asyncio.start_server(mail.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = f"mailto://moot:hunter22@127.0.0.1:{port}?mode=insecure&from=moot@x.example&to=ada@x.example"
        hook = Hook(
            id="h",
            url=url,
            secret="",
            since=datetime.now(UTC),
            page="https://moot.example",
            is_private=True,
        )
        change_hooks(tmp_path / "home", lambda hooks: [hook])
        environ = {"MOOT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
        async with Moot(environ=environ, participants={"python:bob": answer}) as moot:
            task = asyncio.create_task(notices.serve_notices(moot))
            register = open_notice_register(moot.ledger, moot.clock)
            seats = {"ada": "mailbox", "bob": "python:bob"}
            session = await moot.open(
                "要保留吗？", seats=seats, protocol="debate", language="zh", memory=False
            )
            running = asyncio.create_task(moot.run(session))
            async with asyncio.timeout(60):
                while len(mail.taken) < 1:  # noqa: ASYNC110 - another task fills it
                    await asyncio.sleep(0.05)
                await moot.cancel(session)
                while (await register.state())["h"].delivered < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            for each in (task, running):
                each.cancel()
            await asyncio.gather(task, running, return_exceptions=True)
            turn, end = mail.taken
            assert "轮到你发言了" in read_text(turn)
            assert f"https://moot.example/seat/{session}/ada" in read_text(turn)
            assert "要保留吗" in str(turn["subject"])
            assert f"https://moot.example/s/{session}" in read_text(end)
            stored = b"".join(
                path.read_bytes()
                for path in (tmp_path / "home").glob("ledger.db*")
                if path.is_file()
            )
            everything = "".join(map(str, mail.taken)) + caplog.text + hook.place
            assert "hunter22" not in everything
            assert b"hunter22" not in stored
            assert "did not reach h: the service did not take it" in caplog.text
        server.close()

    asyncio.run(work())
    assert mail.tries == 3


def test_a_chat_that_redirects_or_hangs_has_not_taken_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G-2: no redirect is followed, a silent service ends at the deadline, and what participants say calls nobody."""
    bodies: list[str] = []
    script = ["redirect", "ok", "hang"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append((await read_body(reader)).decode())
        word = script.pop(0)
        if word == "hang":
            await asyncio.sleep(3_600)
        status = (
            "307 Elsewhere\r\nLocation: http://127.0.0.1:9/" if word == "redirect" else "200 OK"
        )
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()
        )
        writer.close()

    async def work() -> list[str]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        hook = Hook(
            id="h",
            url=f"json://127.0.0.1:{port}/t0pic?rto=300",
            secret="",
            since=datetime.now(UTC),
            page="http://x",
        )
        notice = Notice(
            id=NoticeId(event="decided"),
            at=hook.since,
            text="Ask @all <!channel>",
            link="http://x",
            topic="A\nB?",
        )
        said = [await deliver(hook, notice), await deliver(hook, notice)]
        monkeypatch.setattr(chat_messages, "SEND_SECONDS", 3.0)
        said.append(await deliver(hook, notice))
        server.close()
        return said

    said = asyncio.run(work())
    assert said[0].startswith("the service did not take it")
    assert said[1:] == ["", "no answer within 3 s"]
    assert all("@all" not in each and "<!" not in each for each in bodies)
    assert json.loads(bodies[1])["title"].startswith("Moot: A")
