"""Q-6: a reply that makes no choice plainly is quoted back to its seat in one small question, whatever kind of participant it is."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import moothall_testkit
from moothall import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import Fact, Reply, SeatLost, list_worded_choices
from moothall.errors import BadAnswer, UnclearChoice
from moothall.protocols.council.facts import Contributed
from moothall.reading.answers import read_answer
from moothall.reading.ask_back import Meant, settle_choice
from moothall.reading.person_asks import build_person_ask, read_step
from moothall.reading.schemas import build_user_prompt
from moothall_testkit.stub_server import StubReply, StubServer

HAZY = "I would rather we did not rush this, although the plan has a lot going for it."
CONTRADICTION = {"position": "support", "text": "I oppose this motion."}
Answering = Callable[[Brief], object]


def answer(vote: object, meant: object) -> Answering:
    """A seat whose vote is not plain, and what it says when it is asked which one it meant."""

    def respond(brief: Brief) -> object:
        if brief.form.kind == "which":
            if isinstance(meant, Exception):
                raise meant
            return meant
        kinds = {"propose": "propose", "argue": "pass", "synthesize": "synthesize"}
        if brief.form.kind == "vote":
            return vote
        return {"type": kinds[brief.form.kind], "text": "Wait until spring.", "confidence": 0.7}

    return respond


SUPPORTER = answer({"position": "support"}, "unclear")


async def _hold(first: object, language: str = "en") -> list[Fact]:
    async with asyncio.timeout(120), Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        seats: Any = {"ada": first, "bob": SUPPORTER, "cy": SUPPORTER}
        decision = await moot.hold(
            "Ship now?", protocol="consensus", seats=seats, seed=1, language=language
        )
        return [entry.fact for entry in await moot.engine.entries(decision.session)]


def find_vote(facts: list[Fact]) -> tuple[str, list[str]]:
    """What ada voted, and the notes on her choice."""
    for fact in facts:
        if isinstance(fact, Contributed) and fact.seat == "ada" and fact.said.position:
            return str(fact.said.position), list_worded_choices(fact.corrections)
    return "", []


def find_loss(facts: list[Fact]) -> SeatLost:
    return next(fact for fact in facts if isinstance(fact, SeatLost) and fact.seat == "ada")


@pytest.mark.parametrize(
    ("vote", "meant"),
    [
        (HAZY, "oppose"),
        ({"position": HAZY}, {"meant": "oppose", "words": "rather we did not rush this"}),
        ({"text": HAZY}, {"meant": "Oppose."}),
        (CONTRADICTION, {"meant": "oppose", "words": "I oppose this motion."}),
        (CONTRADICTION, "oppose"),
    ],
)
def test_what_a_function_meant_is_its_vote(vote: object, meant: object) -> None:
    """Q-6: also where a reason says the other side than its label (Q-5)."""
    position, notes = find_vote(asyncio.run(_hold(answer(vote, meant))))
    assert position == "oppose"
    assert [note for note in notes if note.startswith("meant position ")] == notes[-1:]


@pytest.mark.parametrize(
    "meant",
    [
        "unclear",
        HAZY,
        {"meant": "oppose", "words": "I say no"},
        {"meant": "perhaps"},
        None,
        ValueError("no such question"),
        "I'm sorry, but I can't assist with that request.",
    ],
)
def test_what_stays_unclear_is_lost_with_its_words_and_never_guessed(meant: object) -> None:
    """Q-6: once; a quotation of what was never said settles nothing."""
    facts = asyncio.run(_hold(answer(HAZY, meant)))
    assert find_vote(facts)[0] == ""
    loss = find_loss(facts)
    assert loss.reason == "malformed"
    assert "expected" in loss.cause.words


def test_a_function_is_asked_once_more_with_the_fault() -> None:
    """M-14: whatever is wrong with its answer, it hears of it."""
    heard: list[str] = []

    def respond(brief: Brief) -> object:
        heard.append(brief.own)
        usual = SUPPORTER(brief)
        if brief.form.kind == "propose" and not brief.again:
            return {"type": "propose", "confidence": 0.7}
        return usual

    facts = asyncio.run(_hold(respond))
    assert not [fact for fact in facts if isinstance(fact, SeatLost)]
    assert sum("could not be used: text" in own for own in heard) == 1


def test_a_model_is_asked_in_one_small_request() -> None:
    """Q-6: the reply, the choices in the opposite order, one word; what it cost is counted."""

    replies = (
        '{"type": "propose", "text": "Wait.", "confidence": 0.7}',
        '{"type": "pass", "text": ""}',
        '{"type": "synthesize", "text": "Wait until spring.", "confidence": 0.7}',
        HAZY,
        '{"words": "did not rush this", "meant": "oppose"}',
    )
    stub = StubServer([StubReply(text=each) for each in replies])

    async def work() -> list[Fact]:
        async with stub:
            return await _hold(f"{stub.base_url}#qwen3")

    facts = asyncio.run(work())
    position, notes = find_vote(facts)
    assert position == "oppose"
    assert any(note.startswith("meant position") for note in notes)
    small = next(each for each in stub.asked if "which you meant" in each.text)
    assert HAZY in small.text
    assert len(small.text) - len(HAZY) < 700
    vote = next(
        fact for fact in facts if isinstance(fact, Reply) and "meant" in str(fact.corrections)
    )
    assert vote.usage.calls == 2


def test_a_program_is_asked_as_well(tmp_path: Path) -> None:
    """Q-6: here one that knows nothing of the question but what it is sent."""
    program = tmp_path / "agent.py"
    program.write_text(
        "import json, sys\n"
        "asked = sys.stdin.read()\n"
        "if 'which you meant' in asked:\n"
        "    print(json.dumps({'meant': 'oppose', 'words': 'rather we did not'}))\n"
        "elif 'Vote on #' in asked:\n"
        f"    print({HAZY!r})\n"
        "else:\n"
        "    print('Wait until spring.')\n"
    )
    recipe = tmp_path / "agent.toml"
    recipe.write_text(
        f"argv = [{sys.executable!r}, {str(program)!r}]\nwords = '{{prompt}}'\noutput = 'text'\n"
    )
    facts = asyncio.run(_hold(f"command:{recipe}"))
    assert find_vote(facts)[0] == "oppose", [str(fact)[:300] for fact in facts]


MEANT = {"meant": "oppose", "words": "rather we did not"}


def test_an_agent_of_an_editor_is_asked_as_well(tmp_path: Path) -> None:
    """Q-6: one that speaks the Agent Client Protocol, in the conversation that it has."""
    answers = tmp_path / "answers.json"
    answers.write_text(
        json.dumps({'"meant"': MEANT, "position, condition": HAZY, "": "Wait until spring."})
    )
    argv = [sys.executable, "-m", "moothall_testkit.acp_agent", "good", str(answers)]
    recipe = tmp_path / "agent.toml"
    testkit = Path(moothall_testkit.__file__).parents[1]
    recipe.write_text(
        f"argv = {json.dumps(argv)}\nacp = true\nenviron = {{ PYTHONPATH = {json.dumps(str(testkit))} }}\n"
    )
    facts = asyncio.run(_hold(f"acp:{recipe}"))
    position, notes = find_vote(facts)
    assert position == "oppose", [str(fact)[:300] for fact in facts]
    assert any(note.startswith("meant position") for note in notes)


class HazyAgent(BaseHTTPRequestHandler):
    """An agent of another company, behind Agent2Agent."""

    def do_GET(self) -> None:
        place = {
            "protocolBinding": "JSONRPC",
            "url": f"http://{self.headers['Host']}/",
            "protocolVersion": "1.0",
        }
        self.answer({"name": "hazy", "supportedInterfaces": [place]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent = json.dumps(asked)
        said = "Wait until spring."
        if "which you meant" in sent:
            said = json.dumps(MEANT)
        elif "conditional_support" in sent:
            said = HAZY
        message = {"messageId": "1", "role": "ROLE_AGENT", "parts": [{"text": said}]}
        self.answer({"jsonrpc": "2.0", "id": asked["id"], "result": {"message": message}})

    def answer(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Write nothing."""


def test_an_agent_elsewhere_is_asked_as_well() -> None:
    """Q-6: a seat `a2a:URL` is asked in a message of its own."""
    with ThreadingHTTPServer(("127.0.0.1", 0), HazyAgent) as agent:
        threading.Thread(target=agent.serve_forever, daemon=True).start()
        facts = asyncio.run(_hold(f"a2a:http://127.0.0.1:{agent.server_address[1]}"))
        agent.shutdown()
    assert find_vote(facts)[0] == "oppose", [str(fact)[:300] for fact in facts]


def test_who_answers_from_outside_hears_of_it_and_answers_again() -> None:
    """Q-6: a mailbox seat is named the choices at once, and loses nothing by it."""

    async def work() -> list[Fact]:
        async with asyncio.timeout(120), Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            seats: Any = {"ada": "mailbox", "bob": SUPPORTER, "cy": SUPPORTER}
            session = await moot.open("Ship now?", protocol="consensus", seats=seats, seed=1)
            running = asyncio.create_task(moot.run(session))
            while not running.done():
                await asyncio.sleep(0.02)
                for ask in await moot.asks(session):
                    if ask.brief.form.kind != "vote":
                        raw = (
                            {"type": "pass"}
                            if ask.brief.form.kind == "argue"
                            else "Wait until spring."
                        )
                        await moot.answer(session, ask.ask.id, raw)
                        if running.done():
                            running = asyncio.create_task(moot.run(session))
                        continue
                    with pytest.raises(BadAnswer, match="oppose"):
                        await moot.answer(session, ask.ask.id, HAZY)
                    await moot.answer(session, ask.ask.id, "oppose")
            await running
            return [entry.fact for entry in await moot.engine.entries(session)]

    facts = asyncio.run(work())
    own = [each for each in facts if isinstance(each, Contributed) and each.seat == "ada"]
    assert [each for each in own if each.said.type == "vote" and "oppose" in str(each.said)]
    assert not [each for each in facts if isinstance(each, SeatLost)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_small_question_is_short_and_names_the_choices_the_other_way_round(
    language: str,
) -> None:
    """Q-6: at most 350 characters beyond the quotation."""
    briefs: list[Brief] = []

    def respond(brief: Brief) -> object:
        briefs.append(brief)
        return answer(HAZY, "unclear")(brief)

    asyncio.run(_hold(respond, language))
    first = next(each for each in briefs if each.form.kind == "vote")
    small = next(each for each in briefs if each.form.kind == "which")
    shown = build_user_prompt(small)
    assert len(f"{small.system}{shown}") - len(HAZY) <= 350
    assert small.schema is not None
    offered = [*small.schema["properties"]["meant"]["enum"]]
    assert offered.pop() == "unclear"
    asked = build_user_prompt(first)
    form = asked[max(asked.rfind("position: "), asked.rfind("position：")) :]
    assert sorted(offered, key=form.index, reverse=True) == offered


def test_a_long_reply_is_quoted_from_both_ends() -> None:
    briefs: list[Brief] = []

    def respond(brief: Brief) -> object:
        briefs.append(brief)
        return answer(f"FIRST {'and so on ' * 400} LAST", "unclear")(brief)

    asyncio.run(_hold(respond))
    small = next(each for each in briefs if each.form.kind == "which")
    assert "FIRST" in small.own
    assert "LAST" in small.own
    assert len(small.own) < 1_000


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_person_is_asked_in_one_step_of_its_own(language: str) -> None:
    """Q-6: it reads what it said, and picks one of the choices."""
    briefs: list[Brief] = []

    def respond(brief: Brief) -> object:
        briefs.append(brief)
        return answer(HAZY, "unclear")(brief)

    asyncio.run(_hold(respond, language))
    small = next(each for each in briefs if each.form.kind == "which")
    person = build_person_ask(small)
    assert HAZY in person.intro
    (step,) = person.steps
    assert "oppose" in [choice.value for choice in step.choices]
    picked = read_step(step, "oppose")
    assert picked is not None
    said = read_answer(small, person.build({step.key: picked})).said
    assert isinstance(said, Meant)
    assert said.meant == "oppose"


def test_a_choice_is_settled_by_one_of_the_choices_and_by_words_of_the_reply() -> None:
    unclear = UnclearChoice("?", field="position", choices=("support", "oppose"), words=HAZY)
    assert settle_choice(unclear, Meant(meant="oppose")) == "oppose"
    assert settle_choice(unclear, Meant(words="RATHER, we did", meant="oppose")) == "oppose"
    assert settle_choice(unclear, Meant(words="I am against", meant="oppose")) is None
    assert settle_choice(unclear, Meant(meant="unclear")) is None
    assert settle_choice(unclear, "oppose") is None
