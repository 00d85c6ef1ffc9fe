"""Pictures that are given with a question: sent to models that take them, named to everybody else (E-1)."""

import asyncio
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_given_tools import act, list_facts, list_uses

from moothall.app.estimates import estimate_session
from moothall.app.given_files import read_given_files
from moothall.app.moot import Moot
from moothall.domain.budget import PICTURE_TOKENS
from moothall.domain.facts import Reply
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.domain.topic import MAX_PICTURE_SIZE, ContextFile, build_pictures
from moothall.errors import BadSetting
from moothall.surfaces.api.chat_request import ChatRefused, ChatRequest, read_question
from moothall_testkit.stub_server import Fail, Request, StubServer

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JPEG, GIF, WEBP = b"\xff\xd8\xff\xe0rest", b"GIF89a rest", b"RIFF\x10\0\0\0WEBPVP8 "
NOTES = ContextFile(name="notes.md", text="The chart is from May.")


def list_sent(request: Request) -> list[str]:
    """The pictures of a request, as addresses with their data."""
    parts = [
        part
        for message in request.body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def is_asked_in_full(request: Request, name: str) -> bool:
    """Whether a request asks this model a question of the session, and not which of the choices it meant."""
    return request.body["model"] == name and "which you meant" not in request.text


def build_seats(stub: StubServer, **sees: tuple[str, ...]) -> list[Seat]:
    return [
        Seat(id=SeatId(name), platform=f"{stub.base_url}#{name}", sees=own)
        for name, own in sees.items()
    ]


async def open_debate(moot: Moot, seats: list[Seat], files: list[Any], **options: Any) -> SessionId:
    return await moot.open(
        "Do sales grow?",
        protocol="debate",
        seats=seats,
        files=files,
        check=False,
        seed=7,
        **options,
    )


@pytest.mark.parametrize("switch", ["off", "on"])
def test_models_are_sent_the_pictures_that_they_see_and_the_report_names_them(
    tmp_path: Path, switch: str
) -> None:
    """E-1: a part of the request, by the seat's `sees`, also after a restart and with tools; name, size, hash in the report;
    stored once, and in an export."""
    (tmp_path / "chart.png").write_bytes(PNG)
    environ = {"MOOT_HOME": str(tmp_path / "home")}
    data = b64encode(PNG).decode()

    async def work() -> None:
        async with StubServer([act((("read", '{"file": "notes.md"}'),))]) as stub:
            async with Moot(environ=environ) as moot:
                seats = build_seats(stub, ada=(), bob=("*.md",))
                session = await open_debate(
                    moot, seats, [tmp_path / "chart.png", NOTES], tools=switch
                )
            async with Moot(environ=environ) as moot:
                await moot.run(session)
                asked = {
                    name: [each for each in stub.asked if is_asked_in_full(each, name)]
                    for name in ("ada", "bob")
                }
                assert all(
                    list_sent(each) == [f"data:image/png;base64,{data}"] for each in asked["ada"]
                )
                assert "| chart.png (image/png, 264 B)" in asked["ada"][0].text
                assert not any(list_sent(each) for each in asked["bob"])
                assert "chart.png" not in asked["bob"][0].text
                uses = list_uses(await list_facts(moot, session))
                assert bool(uses) is (switch == "on")
                for form in ("minutes", "html"):
                    text = await moot.export(session, form)
                    assert f"chart.png (264 B, SHA-256 {sha256(PNG).hexdigest()[:12]}…)" in text
                    assert data not in text
                exported = await moot.export(session, "jsonl")
                assert exported.count(data) == 1
                streams = [head.session for head in await moot.ledger.heads("_file_")]
                assert len(streams) == 2
        async with Moot(environ={"MOOT_HOME": str(tmp_path / "other")}) as moot:
            await moot.read_back(exported)
            opened = (await list_facts(moot, session))[0]
            assert opened.subject.pictures[0].text == data

    asyncio.run(work())


@pytest.mark.parametrize(
    "refusal",
    [Fail(status=400, message="no"), Fail(status=500, message="image input is not supported")],
)
def test_a_model_that_takes_no_pictures_is_asked_without_and_that_is_recorded(
    refusal: Fail,
) -> None:
    """E-1: the ask is not lost, the tools are not taken from it, and the report says who did not see it."""

    async def work() -> None:
        has_picture = lambda body: refusal if "image_url" in str(body["messages"]) else None  # noqa: E731
        stub = StubServer([act((("read", '{"file": "notes.md"}'),))], reject=has_picture)
        async with stub, Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            picture = ContextFile(name="chart.png", text=b64encode(PNG).decode(), media="image/png")
            session = await open_debate(
                moot, build_seats(stub, ada=(), bob=()), [picture, NOTES], tools="on"
            )
            await moot.run(session)
            facts = await list_facts(moot, session)
            replies = [fact for fact in facts if isinstance(fact, Reply)]
            assert replies
            assert all("unseen chart.png" in fact.corrections for fact in replies)
            assert {use.outcome for use in list_uses(facts)} == {"answered"}
            assert "did not see chart.png" in await moot.export(session, "minutes")

    asyncio.run(work())


def test_a_picture_is_recognised_by_how_it_begins_and_bounded(tmp_path: Path) -> None:
    """E-1: PNG, JPEG, GIF and WebP, whatever they are called; what claims to be one is refused; a folder leaves them out."""
    for name, raw in {"a.txt": PNG, "b": JPEG, "c.png": GIF, "d.md": WEBP}.items():
        (tmp_path / name).write_bytes(raw)
    given = read_given_files(
        [tmp_path / name for name in ("a.txt", "b", "c.png", "d.md")], {}
    ).files
    kinds = [each.media for each in build_pictures(given)]
    assert kinds == ["image/png", "image/jpeg", "image/gif", "image/webp"]
    (tmp_path / "e.md").write_text("Text.")
    folder = read_given_files([tmp_path], {})
    assert [each.name for each in folder.files] == [f"{tmp_path.name}/e.md"]
    assert folder.left_out[0] == f"{tmp_path.name}/a.txt: is a picture; give it by itself"
    huge = b64encode(PNG + bytes(MAX_PICTURE_SIZE)).decode()
    for text, said in (
        ("bm8=", "is not a PNG"),
        ("§", "is not a PNG"),
        ("", "is not a PNG"),
        (huge, "make it smaller"),
    ):
        with pytest.raises(BadSetting, match=said):
            build_pictures([ContextFile(name="x", text=text, media="image/png")])
    many = [
        ContextFile(name=str(number), text=b64encode(PNG).decode(), media="image/png")
        for number in range(9)
    ]
    with pytest.raises(BadSetting, match="at most 8 pictures"):
        build_pictures(many)
    with pytest.raises(BadSetting, match="two pictures are called"):
        build_pictures(
            [many[0], ContextFile(name="0", text=b64encode(GIF).decode(), media="image/gif")]
        )


def test_who_is_sent_no_picture_is_said_before_the_meeting_and_in_the_report(
    tmp_path: Path,
) -> None:
    """E-1: where nobody could be sent it, one sentence and no session; who could not is recorded; it is in the forecast."""
    picture = ContextFile(name="chart.png", text=b64encode(PNG).decode(), media="image/png")

    async def work() -> None:
        async with StubServer([act()]) as stub, Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            nobody = [Seat(id=SeatId(name), platform="mailbox") for name in ("ada", "bob")]
            with pytest.raises(
                BadSetting,
                match=r"chart\.png is a picture, and no seat is a model that could be sent it",
            ):
                await open_debate(moot, nobody, [picture])
            assert await moot.ledger.heads("") == []
            seats = [*build_seats(stub, ada=()), nobody[1]]
            session = await open_debate(moot, seats, [picture])
            asks = {ask.ask.seat: ask.brief for ask in await moot.asks(session)}
            assert (
                "If none is attached to this message, you cannot see them"
                in asks[SeatId("bob")].shared
            )
            minutes = await moot.export(session, "minutes")
            assert (
                "Were sent no pictures, because no model of a provider answers there: bob."
                in minutes
            )
            plans = [
                (await moot.plan_session("Q?", seats=seats, files=[each], check=False)).opened
                for each in (picture, NOTES)
            ]
            costs = [estimate_session(each, moot.seating.kinds).tokens.least for each in plans]
            assert costs[0] > costs[1]
            assert costs[0] >= PICTURE_TOKENS

    asyncio.run(work())


def test_pictures_in_a_message_of_a_chat_are_given_and_addresses_are_not_fetched() -> None:
    """E-1: parts of OpenAI's shapes, with the picture in base64."""
    url = f"data:image/png;base64,{b64encode(PNG).decode()}"
    text = {"type": "text", "text": "Do sales grow?"}
    for part in (
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "input_image", "image_url": url},
    ):
        chat = ChatRequest.model_validate(
            {"model": "m", "messages": [{"role": "user", "content": [text, part]}]}
        )
        (file,) = read_question(chat).files
        assert (file.media, file.name[:8]) == ("image/png", "picture-")
    for url in ("https://example.com/a.png", "data:image/png;base64,bm8="):
        part = {"type": "image_url", "image_url": {"url": url}}
        chat = ChatRequest.model_validate(
            {"model": "m", "messages": [{"role": "user", "content": [text, part]}]}
        )
        with pytest.raises(ChatRefused):
            read_question(chat)
