"""A person's seat on the page (W-5), the page as one file (W-11), and the cases behind a participant's trust (W-6)."""

import asyncio
import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_session_views import (
    Rpc,
    hold_demos,
    in_memory,
    open_debate,
    say,
    served,
)

from moothall.app.moot import Moot
from moothall.errors import BadAnswer, BadSetting, KeyReused, NotAllowed, UnknownAsk, UnknownSeat
from moothall.surfaces.api.page import PARTS_AT_ONCE, export_text, stream_page
from moothall_testkit.ledger_scenes import expect_error, run_with_deadline

HOSTILE = (
    "</script><script>window.pwned=1</script><!-- <img src=x onerror=alert(1)> \u202egnp.exe \u2028"
)


async def find_ask(rpc: Rpc, session: str, seat: str) -> Any:
    (asked,) = (await rpc("moot.getPersonAsks", sessionId=session, seat=seat))["asks"]
    return asked


async def answer(rpc: Rpc, session: str, seat: str, **what: Any) -> Any:
    asked = await find_ask(rpc, session, seat)
    return await rpc(
        "moot.answerAsPerson", sessionId=session, seat=seat, ask=asked["ask"]["ask"], **what
    )


@pytest.mark.parametrize(("language", "why"), [("en", "Why?"), ("zh", "为什么？")])
def test_a_person_is_asked_in_plain_words_and_votes(
    tmp_path: Path, language: str, why: str
) -> None:
    """W-5: the questions of the protocol in the session's language, a list for the entries that may be named, /pass."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "moot.openSession",
                topic="A or B?",
                protocol="debate",
                seats=["ada", "bob"],
                options=["A", "B"],
                language=language,
            )
            session = opened["sessionId"]
            asked = await find_ask(rpc, session, "ada")
            steps = {step["key"]: step for step in asked["steps"]}
            offered = [choice["value"] for choice in steps["choice"]["choices"]]
            assert offered == ["A", "B", "none of these" if language == "en" else "都不是"]
            text = next(step["key"] for step in asked["steps"] if step["text"].startswith(why))
            await answer(
                rpc,
                session,
                "ada",
                answers={"choice": "A", text: "It is first.", "confidence": "sure"},
            )
            await answer(rpc, session, "bob", answers={"choice": "B", text: "It is second."})
            asked = await find_ask(rpc, session, "ada")
            assert "/pass" in {command["word"] for command in asked["commands"]}
            assert any(step.get("numbers") for step in asked["steps"])
            await answer(rpc, session, "ada", command="/pass")
            told = (await rpc("cstp.getDeliberation", deliberationId=session))["contributions"]
            assert [
                (each["participant"], each["choice"]) for each in told if each["type"] == "propose"
            ] == [
                ("ada", "A"),
                ("bob", "B"),
            ]

    run_with_deadline(work())


def test_a_bid_is_the_speech_and_nobody_is_asked_about_its_own_words(tmp_path: Path) -> None:
    """W-5: one sentence is one answer; an ask without a question is answered by code, whether or not the page is open."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            seats = [{"id": name, "platform": "mailbox"} for name in ("ada", "bob")]
            opened = await rpc(
                "moot.openSession", topic="Tea or coffee?", protocol="persona", seats=seats
            )
            session = opened["sessionId"]

            async def list_asked() -> dict[str, Any]:
                """What each of the two is asked, once both are, or one has the floor."""
                for _ in range(400):
                    asks = {
                        seat: (await rpc("moot.getPersonAsks", sessionId=session, seat=seat))[
                            "asks"
                        ]
                        for seat in ("ada", "bob")
                    }
                    if all(asks.values()):
                        return {seat: each[0] for seat, each in asks.items()}
                    await asyncio.sleep(0.01)
                raise AssertionError(asks)

            asked = await list_asked()
            if asked["ada"]["ask"]["kind"] == "position":
                for seat in ("ada", "bob"):
                    key = asked[seat]["steps"][0]["key"]
                    await answer(
                        rpc,
                        session,
                        seat,
                        answers={
                            step["key"]: "Tea."
                            for step in asked[seat]["steps"]
                            if step["key"] == key
                        },
                    )
                asked = await list_asked()
            assert {each["ask"]["kind"] for each in asked.values()} == {"intent"}
            words = asked["ada"]["steps"][0]["key"]
            await answer(rpc, session, "bob", command="/listen")
            await answer(rpc, session, "ada", answers={words: "Tea keeps longer on the shelf."})
            # Nobody asks ada for the same words again, nor what it thinks of them: the next that is asked is bob.
            for _ in range(400):
                open_asks = (await rpc("moot.getPersonAsks", sessionId=session, seat="bob"))["asks"]
                if open_asks:
                    break
                await asyncio.sleep(0.01)
            assert open_asks[0]["ask"]["kind"] == "intent"
            assert (await rpc("moot.getPersonAsks", sessionId=session, seat="ada"))["asks"] == []
            view = await rpc("moot.getView", sessionId=session)
            said = json.dumps(view["timeline"])
            assert said.count("Tea keeps longer on the shelf.") >= 1
            for _ in range(400):
                view = await rpc("moot.getView", sessionId=session)
                if [each["seat"] for each in view["waiting"]] == ["bob"]:
                    break
                await asyncio.sleep(0.01)
            assert [each["seat"] for each in view["waiting"]] == ["bob"]

    run_with_deadline(work())


def test_careless_answers_are_explained_and_record_nothing(tmp_path: Path) -> None:
    """W-5: nothing typed, a choice that is not there, an unknown command, an ask that has passed, a seat that does not exist."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "moot.openSession",
                topic="A or B?",
                protocol="debate",
                seats=["ada", "bob"],
                options=["A", "B"],
            )
            session = opened["sessionId"]
            asked = await find_ask(rpc, session, "ada")
            head = (await rpc("moot.getView", sessionId=session))["head"]
            to = {"sessionId": session, "seat": "ada", "ask": asked["ask"]["ask"]}
            text = next(step["key"] for step in asked["steps"] if step["long"])
            for given, told in (
                ({"answers": {}}, "an answer is needed"),
                ({"answers": {"choice": "Z", text: "x"}}, "expected one of: A | B | none of these"),
                ({"answers": {"choice": " \x00 \t ", text: "x"}}, "an answer is needed"),
            ):
                error = await expect_error(BadAnswer, rpc("moot.answerAsPerson", **to, **given))
                assert told in str(error), error
            await expect_error(BadSetting, rpc("moot.answerAsPerson", **to, command="/dance"))
            await expect_error(
                UnknownAsk, rpc("moot.answerAsPerson", **{**to, "ask": "7.vote.ada"}, answers={})
            )
            await expect_error(
                UnknownSeat, rpc("moot.getPersonAsks", sessionId=session, seat="eve")
            )
            mallory = rpc.with_caller(role="seat", token="t", session=session, seat="bob")
            await expect_error(
                NotAllowed, mallory("moot.answerAsPerson", **to, answers={"choice": "A", text: "x"})
            )
            await expect_error(
                NotAllowed,
                rpc.with_caller(role="observer")(
                    "moot.getPersonAsks", sessionId=session, seat="ada"
                ),
            )
            assert (await rpc("moot.getView", sessionId=session))["head"] == head

    run_with_deadline(work())


def test_an_answer_whose_response_was_lost_is_sent_again_and_counts_once(tmp_path: Path) -> None:
    """W-5: with its key and without, while the session goes on and after its end; other words are refused."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "moot.openSession",
                topic="A or B?",
                protocol="debate",
                seats=["ada", "bob"],
                options=["A", "B"],
            )
            session = opened["sessionId"]
            asked = await find_ask(rpc, session, "ada")
            text = next(step["key"] for step in asked["steps"] if step["long"])
            to = {"sessionId": session, "seat": "ada", "ask": asked["ask"]["ask"]}
            given = {**to, "answers": {"choice": "A", text: "It is first."}}
            first = await rpc("moot.answerAsPerson", **given, idempotencyKey="k")
            assert await rpc("moot.answerAsPerson", **given, idempotencyKey="k") == first
            assert await rpc("moot.answerAsPerson", **given) == first
            head = (await rpc("moot.getView", sessionId=session))["head"]
            other = {**to, "answers": {"choice": "B", text: "No, second."}}
            await expect_error(KeyReused, rpc("moot.answerAsPerson", **other, idempotencyKey="k"))
            await expect_error(UnknownAsk, rpc("moot.answerAsPerson", **other))
            # The ask of another seat is not answered through this one.
            await expect_error(UnknownAsk, rpc("moot.answerAsPerson", **{**given, "seat": "bob"}))
            assert (await rpc("moot.getView", sessionId=session))["head"] == head
            await rpc("moot.cancelSession", sessionId=session)
            assert await rpc("moot.answerAsPerson", **given, idempotencyKey="k") == first

    run_with_deadline(work())


def test_every_session_of_every_protocol_is_one_file_that_holds_its_history(tmp_path: Path) -> None:
    """W-11: one file, whose only script is the page's own, with the view, and what each entry changed."""

    async def work() -> None:
        async with served(
            Moot(environ={"MOOT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})
        ) as rpc:
            await hold_demos(rpc.call.moot)
            seen = set()
            for line in (await rpc("moot.listSessions", limit=1_000))["sessions"]:
                if line["status"] in {"damaged", "not_installed"} or line["protocol"] in seen:
                    continue
                seen.add(line["protocol"])
                session = line["sessionId"]
                page = (await rpc("moot.exportSession", sessionId=session, form="html"))["text"]
                data, script = read_file(page)
                live = await rpc("moot.getView", sessionId=session)
                assert data["view"]["timeline"] == live["timeline"]
                assert data["view"]["may"] == []
                assert [change["at"] for change in data["history"]] == list(
                    range(1, live["head"] + 1)
                )
                middle = live["head"] // 2
                past = await rpc("moot.getView", sessionId=session, at=middle)
                items: dict[int, Any] = {}
                for change in data["history"][:middle]:
                    items.update(dict(change["timeline"]["items"]))
                    total = change["timeline"]["total"]
                assert [[place, items[place]] for place in range(total)] == past["timeline"][
                    "items"
                ]
                digest = b64encode(sha256(script.encode()).digest()).decode()
                assert f"script-src 'sha256-{digest}'" in page
                assert "http-equiv" in page.split("<style>")[0]
            assert len(seen) == 8

    run_with_deadline(work())


def test_a_file_comes_in_parts_and_others_are_served_meanwhile(tmp_path: Path) -> None:
    """W-11: no part grows with the session, the parts are the whole file, and whoever else waits has a turn between them."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            session = await open_debate(rpc, "ada", "bob")
            for number in range(60):
                await rpc(
                    "moot.giveInput", sessionId=session, text=f"Input {number}: {'more ' * 500}"
                )
            turns = 0

            async def count_turns() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            other = asyncio.create_task(count_turns())
            parts, counts = [], []
            async for part in stream_page(rpc.call.moot, session):
                parts.append(part)
                counts.append(turns)
            other.cancel()
            assert "".join(parts) == await export_text(rpc.call.moot, session, "html")
            data, _ = read_file("".join(parts))
            inputs = [
                item for _, item in data["view"]["timeline"]["items"] if "Input" in json.dumps(item)
            ]
            assert len(inputs) == 60
            # A part holds one input at most, but for the history, which has its own limit.
            most = sorted(sum(f"Input {number}:" in part for number in range(60)) for part in parts)
            assert most[-2:] == [1, 60]
            assert len(set(counts)) >= len(parts) // PARTS_AT_ONCE

    run_with_deadline(work())


def test_what_participants_say_does_not_leave_the_data_of_a_file(tmp_path: Path) -> None:
    """W-8, W-11: a text that would end the element, or begin another, stays a text."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            session = await open_debate(rpc, "ada", "bob")
            await say(rpc, session, "ada", "propose", text=HOSTILE)
            await say(rpc, session, "bob", "propose", text=HOSTILE)
            page = await export_text(rpc.call.moot, session, "html")
            assert page.count("<script") == 2
            assert page.count("</script>") == 2
            assert "<img" not in page.replace("&lt;img", "").split('id="moot-view"')[0]
            data, _ = read_file(page)
            said = [
                item for _, item in data["view"]["timeline"]["items"] if item.get("seat") == "ada"
            ]
            assert "&lt;script&gt;" in json.dumps(said)

    run_with_deadline(work())


def read_file(page: str) -> tuple[Any, str]:
    """The data and the script of an exported page."""
    data = re.search(
        r'<script type="application/json" id="moot-view">(.*?)</script>', page, re.DOTALL
    )
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)
    assert data is not None
    assert script is not None
    return json.loads(data[1]), script[1]


def test_the_trust_in_a_participant_is_told_case_by_case(tmp_path: Path) -> None:
    """W-6: what it said, how it turned out, and the trust after that."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            outcomes = ("success", "failure", "abandoned", "success")
            for number, outcome in enumerate(outcomes):
                made = await rpc(
                    "cstp.recordDecision",
                    agent="ada",
                    topic=f"Case {number}?",
                    decision="Yes.",
                    confidence=0.9,
                )
                await rpc("cstp.reviewDecision", decisionId=made["decisionId"], outcome=outcome)
            told = await rpc("moot.getTrustHistory", source="ada")
            # What was abandoned was never tested.
            assert [(case["topic"], case["outcome"], case["right"]) for case in told["cases"]] == [
                ("Case 0?", "success", 1.0),
                ("Case 1?", "failure", 0.0),
                ("Case 3?", "success", 1.0),
            ]
            first, second, third = (case["trust"] for case in told["cases"])
            assert second < first
            assert third > second
            assert third == (await rpc("cstp.getSourceTrust", source="ada"))["trust"]
            assert (await rpc("moot.getTrustHistory", source="nobody"))["cases"] == []

    run_with_deadline(work())


async def hold_until_argued(rpc: Rpc, *seats: str) -> str:
    """Open a debate in which each seat has proposed, and ada has written first; ada is asked to argue."""
    session = await open_debate(rpc, *seats)
    for seat in seats:
        await say(rpc, session, seat, "propose", choice=seat.upper())
    return session


async def find_said(rpc: Rpc, session: str, seat: str, kind: str) -> dict[str, Any]:
    """What a seat said as it stands in the ledger: the newest of this type."""
    entries = (await rpc("moot.getEntries", sessionId=session))["entries"]
    facts = [entry["what"] for entry in entries if entry["fact"] == "Contributed"]
    said = [fact["said"] for fact in facts if fact["seat"] == seat]
    said = [each for each in said if each["type"] == kind]
    newest: dict[str, Any] = said[-1]
    return newest


def test_a_line_that_nobody_named_is_none(tmp_path: Path) -> None:
    """W-5: who supports and names no line is not recorded as speaking to one, and the form says so before."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            session = await hold_until_argued(rpc, "ada", "bob", "cy")
            asked = await find_ask(rpc, session, "ada")
            steps = {step["key"]: step for step in asked["steps"]}
            assert steps["refers_to"]["ifEmpty"] == "no line is named"
            assert "ifEmpty" not in steps["position"]
            given = {"position": "support", "words": "I like what bob says."}
            await answer(rpc, session, "ada", answers=given)
            said = await find_said(rpc, session, "ada", "support")
            assert said["text"] == "I like what bob says."
            assert said.keys().isdisjoint({"refersTo", "refers_to", "confidence"}), said
            await answer(rpc, session, "bob", answers={**given, "refers_to": "4"})
            named = await find_said(rpc, session, "bob", "support")
            assert 4 in {named.get("refersTo"), named.get("refers_to")}

    run_with_deadline(work())


def test_a_position_that_nobody_named_is_none(tmp_path: Path) -> None:
    """W-5, D-7: a ballot holds the positions that were named; one without any is refused, and abstaining is said."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            seats = ("ada", "bob")
            session = await hold_until_argued(rpc, *seats)
            for _ in seats:
                for seat in seats:
                    if (await rpc("moot.getPersonAsks", sessionId=session, seat=seat))["asks"]:
                        await answer(rpc, session, seat, command="/pass")
            asked = await find_ask(rpc, session, "ada")
            first, second = (step for step in asked["steps"] if step["kind"] == "position")
            assert not first["needed"]
            assert "no position" in first["ifEmpty"]
            given = {"why": "I know too little of the other."}
            refusal = await expect_error(BadAnswer, answer(rpc, session, "ada", answers=given))
            assert "name one on at least one" in str(refusal)
            await answer(rpc, session, "ada", answers={**given, second["key"]: "support"})
            await answer(rpc, session, "bob", command="/abstain")
            ballots = {
                seat: (await find_said(rpc, session, seat, "vote"))["ballot"] for seat in seats
            }
            assert [vote["position"] for vote in ballots["ada"]] == ["support"]
            assert [vote["position"] for vote in ballots["bob"]] == ["abstain", "abstain"]

    run_with_deadline(work())
