"""Sessions of every protocol whose participants can go out: scripted answers, behind a switch or behind a real model server."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from moothall.app.moot import Moot
from moothall.app.session_options import Options
from moothall.codec.adapters import as_json, get_adapter
from moothall.domain.consult import ConsultRequest
from moothall.domain.effects import Brief
from moothall.domain.facts import Loss
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.participants.human import AskPerson
from moothall.participants.model import ModelParticipant
from moothall.participants.model_request import RetryPolicy
from moothall.participants.platforms import parse_platform
from moothall.participants.script import ScriptParticipant
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant
from moothall.reading.schemas import get_own_schema
from moothall_testkit.stub_server import Drop, Fail, Hang, Raw, Request, Step, StubReply, StubServer

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
FAST = RetryPolicy(first_pause=0.01, longest_pause=0.02, preflight=5.0)
DEADLINE = 60.0

CAUSES: dict[str, Step] = {
    "500": Fail(status=500),
    "503": Fail(status=503),
    "401": Fail(status=401),
    "402": Fail(status=402),
    "403": Fail(status=403),
    "404": Fail(status=404),
    "429": Fail(status=429),
    "quota": Fail(status=429, code="insufficient_quota"),
    "reset": Drop(),
    "half": Raw(body=b'{"id": "x", "choices": [{"message": {"content": "Half'),
    "a page": Raw(
        body=b"<html><body>Sign in to the hotel's network</body></html>", content_type="text/html"
    ),
}
"""What a provider that is out for everybody does, by the name of the cause."""

_TALK = """
[[position]]
position = "Wait."
confidence = 0.6
[[intent]]
reaction_score = 0.8
intent_to_speak = true
[[speech]]
content = "Let us wait a week."
[[draft]]
decision = { text = "Wait a week.", entries = [2] }
confidence = 0.8
[[minutes]]
content = "## Summary\\nWe looked.\\n## Consensus reached\\nWait a week.\\n## Left open\\nNone.\\n## Action items\\nNone."
[[stand]]
verdict = "support"
confidence = 0.8
position = "Fine."
[[work]]
content = "The text."
[[validate]]
verdict = "APPROVED"
reason = "Good."
[[consult]]
answer = "It is sound."
""".replace(
    "[[speech]]\ncontent", '[[speech]]\ncontent = "First, let us look."\n[[speech]]\ncontent'
)

_CONSULT = 'consult = { to = "bob", question = "What does it cost?" }'


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A session that reaches its end by scripts: its options, and the file or the text of its answers.

    With `consults` a seat's first answer of that kind is a question to bob.
    """

    protocol: str
    seats: tuple[str, ...]
    file: str = ""
    script: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 7
    consults: str = ""

    @property
    def name(self) -> str:
        return f"{self.protocol}-{self.consults}" if self.consults else self.protocol

    def build_options(
        self,
        moot: Moot,
        *,
        check: bool = True,
        weights: Mapping[str, int] | None = None,
        people: Sequence[str] = (),
    ) -> Options:
        weigh = (weights or {}).get
        platforms = {seat: "human" if seat in people else f"x-{seat}" for seat in self.seats}
        return {
            "seats": [
                Seat(id=SeatId(seat), platform=each, weight=weigh(seat, 1))
                for seat, each in platforms.items()
            ],
            "check": check,
            "protocol": self.protocol,
            "settings": dict(self.settings),
            "seed": self.seed,
            "session": "s",
            "project": moot.environ["MOOT_HOME"] if self.consults else None,
        }

    def build_scripts(self, folder: Path) -> dict[str, ScriptParticipant]:
        return {
            seat: ScriptParticipant(self._write_script(folder, seat), SeatId(seat))
            for seat in self.seats
        }

    def _write_script(self, folder: Path, seat: str) -> Path:
        folder.mkdir(exist_ok=True)
        path = folder / f"{seat}.toml"
        if self.file:
            # Where the one who would write the resolution is out, there are several proposals to vote on: the votes name one.
            example = (EXAMPLES / self.file).read_text(encoding="utf-8")
            path.write_text(
                example.replace('type = "vote"\n', 'type = "vote"\nrefers_to = 2\n'),
                encoding="utf-8",
            )
            return path
        asks = f"[[{self.consults}]]\n{_CONSULT}\n" if self.consults and seat == "ada" else ""
        path.write_text(asks + (self.script or _TALK), encoding="utf-8")
        return path


_COUNCIL = ("emerson", "minski", "code-reviewer")
SCENES = (
    Scene(protocol="persona", seats=("ada", "bob", "cem")),
    Scene(
        protocol="roundtable", seats=("ada", "bob", "cem", "moderator"), settings={"max_rounds": 2}
    ),
    Scene(protocol="debate", seats=_COUNCIL, file="hsm.toml"),
    Scene(protocol="advisory", seats=_COUNCIL, file="hsm.toml", settings={"owner": "emerson"}),
    Scene(protocol="consensus", seats=_COUNCIL, file="hsm.toml"),
    Scene(
        protocol="swarm",
        seats=("TanWei", "SuYuan", "DongCha", "QiuSuo", "XiLi"),
        file="swarm.toml",
        # As in the demo: no script has a word on which ideas are one.
        settings={"judge": ""},
    ),
)

_DEBATE = """
[[propose]]
type = "propose"
text = "Wait a week."
choice = "wait"
confidence = 0.8
[[vote]]
type = "vote"
position = "support"
confidence = 0.9
[[consult]]
answer = "Five euros."
"""
_PIPELINE = """
[[work]]
content = "The first text."
[[work]]
content = "The second text."
[[validate]]
raw = "REJECTED\\nIt names no price."
[[validate]]
raw = "APPROVED\\nIt does now."
[[review]]
raw = "APPROVED\\nHeard, and fine."
[[consult]]
answer = "Five euros."
[[consult]]
answer = "Five euros, and tax."
"""
_STEPS = (
    {"name": "look", "agent": "ada", "task": "Look at it."},
    {"name": "write", "agent": "bob", "task": "Write it down."},
    {"name": "check", "agent": "cem", "task": "Is it sound?", "gate": True},
    {"name": "print", "agent": "ada", "task": "Print it."},
)
_REVIEWED = (*_STEPS[:2], {**_STEPS[2], "on_reject": "consult", "back_to": "write"}, _STEPS[3])
_THREE = ("ada", "bob", "cem")
PIPELINE = Scene(protocol="pipeline", seats=_THREE, script=_PIPELINE, settings={"steps": _STEPS})
CONSULTING = (
    Scene(protocol="persona", seats=_THREE, consults="speech"),
    Scene(
        protocol="roundtable",
        seats=(*_THREE, "moderator"),
        settings={"max_rounds": 1},
        consults="speech",
    ),
    Scene(protocol="debate", seats=_THREE, script=_DEBATE, consults="propose"),
    Scene(
        protocol="pipeline",
        seats=_THREE,
        script=_PIPELINE,
        settings={"steps": _REVIEWED},
        consults="work",
    ),
    Scene(
        protocol="consultation",
        seats=("ada", "bob"),
        settings={"asker": "ada", "to": "bob"},
        consults="question",
    ),
)


class Switched:
    """A participant that is out whenever `is_out` says so for the number of its call, counted over all seats of a meeting."""

    def __init__(self, inner: Participant, seat: str, meeting: "Switchboard") -> None:
        self._inner = inner
        self._seat = seat
        self._meeting = meeting

    async def ready(self) -> str | None:
        is_out = self._meeting.reason == "unreachable" and self._meeting.is_out(self._seat)
        return "the line is dead" if is_out else None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        meeting = self._meeting
        meeting.calls += 1
        # Let the others of the wave be asked, too: real participants take a while.
        await asyncio.sleep(0)
        if meeting.is_out(self._seat):
            meeting.failed[brief.ask.id] = meeting.list_out()
            return NoAnswer(reason=meeting.reason, detail="the line is dead")
        response = await self._inner.respond(brief, on_text)
        if isinstance(response, Answer):
            meeting.answered.append(brief.ask.id)
        return response


@dataclass
class Switchboard:
    """Who is out when, and how: `is_out` is asked with a seat; `answered` are the asks that were answered, in order.

    `failed` are the asks that were not, each with all seats that were out at that moment.
    """

    is_out: Callable[[str], bool] = lambda seat: False
    reason: Loss = "unreachable"
    calls: int = 0
    answered: list[str] = field(default_factory=list)
    failed: dict[str, frozenset[str]] = field(default_factory=dict)
    seats: tuple[str, ...] = ()

    def list_out(self) -> frozenset[str]:
        return frozenset(seat for seat in self.seats if self.is_out(seat))

    def seat_all(self, scripts: Mapping[str, Participant]) -> dict[str, Participant]:
        self.seats = tuple(scripts)
        return {seat: Switched(inner, seat, self) for seat, inner in scripts.items()}


class Provider:
    """A loopback model server that answers by scripts, and can be killed and started again at the same address."""

    def __init__(self, key: str | None = None, pace: RetryPolicy = FAST) -> None:
        self._key = key
        self._pace = pace
        self._texts: dict[tuple[str, str], str] = {}
        self._server: StubServer | None = None
        self._port = 0
        self.answered: list[str] = []
        self.dies_after = 10**9
        self.fails_with: Step | None = None
        """What it does once it is out, rather than to be gone."""
        self._given = 0
        self.hangs_for = ""
        """The seat whose questions are never answered, while it is ready to."""

    async def start(self) -> None:
        self._server = await StubServer(
            [self._answer], port=self._port, api_key=self._key
        ).__aenter__()
        self._port = self._server.port

    async def kill(self) -> None:
        if self._server is not None:
            await self._server.__aexit__(None, None, None)
            self._server = None

    def _answer(self, request: Request) -> Step:
        if self.fails_with is not None and self._given >= self.dies_after:
            return self.fails_with
        if "Say OK." in request.text:
            return StubReply(text="OK")
        model = request.body["model"]
        if model == self.hangs_for:
            return Hang()
        # The newest first: a seat that is asked the same twice gets the answer of the second time.
        found = (
            text
            for (of, own), text in reversed(self._texts.items())
            if of == model and own in request.text
        )
        self._given += 1
        return StubReply(text=next(found))

    def seat_all(
        self, scripts: Mapping[str, Participant], *, key: str = ""
    ) -> dict[str, Participant]:
        """Seat a model for each script, in a process whose environment has this key, or none."""
        base = f"http://127.0.0.1:{self._port}/v1"
        named = f"{base}#{{seat}}?key=SERVER_KEY" if self._key else f"{base}#{{seat}}"
        environ = {"SERVER_KEY": key} if key else {}
        # One model name per seat: the server tells by it, and by the question, which answer is wanted.
        return {
            seat: _Served(
                ModelParticipant(
                    parse_platform(named.format(seat=seat), ()), environ, pace=self._pace
                ),
                inner,
                seat,
                self,
            )
            for seat, inner in scripts.items()
        }

    async def prepare(self, seat: str, response: Answer, brief: Brief) -> None:
        """Have the server answer with this, unless it is to die first."""
        if self.fails_with is None and len(self.answered) >= self.dies_after:
            await self.kill()
        self._texts.pop((seat, brief.own), None)
        self._texts[seat, brief.own] = _write_answer(response.said, brief)


def _write_answer(said: Any, brief: Brief) -> str:
    if isinstance(said, ConsultRequest):
        return json.dumps({"consult": as_json(said)}, ensure_ascii=False)
    is_plain = [each.name for each in fields(said)] == ["content"]
    return said.content if is_plain else _write_json(said, brief)


def _write_json(said: Any, brief: Brief) -> str:
    """Write an answer as a model does: fields that have their default are left out, unless the ask needs them."""
    given: Any = as_json(said)
    whole = get_adapter(brief.form.shape).dump_python(said, mode="json")
    needed = {
        name: whole[name] for name in get_own_schema(brief).get("required", ()) if name in whole
    }
    return json.dumps({**needed, **given}, ensure_ascii=False)


class _Served:
    """A model behind the provider, whose answers are those of a script."""

    def __init__(
        self, model: ModelParticipant, script: Participant, seat: str, provider: Provider
    ) -> None:
        self._model = model
        self._script = script
        self._seat = seat
        self._provider = provider

    async def ready(self) -> str | None:
        return await self._model.ready()

    async def probe(self) -> str | None:
        return await self._model.probe()

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        scripted = await self._script.respond(brief, lambda text: None)
        if not isinstance(scripted, Answer):
            return scripted
        await self._provider.prepare(self._seat, scripted, brief)
        response = await self._model.respond(brief, on_text)
        if isinstance(response, Answer):
            self._provider.answered.append(brief.ask.id)
        return response


def open_moot(
    home: Path, participants: Mapping[str, Participant], ask_person: AskPerson | None = None
) -> Moot:
    """A `Moot` with a ledger of its own, in which `x-SEAT` is the platform of each participant."""
    environ = {"MOOT_HOME": str(home), "PATH": ""}
    return Moot(
        environ=environ,
        ask_person=ask_person,
        participants={f"x-{seat}": each for seat, each in participants.items()},
    )
