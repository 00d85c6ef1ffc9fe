"""Commands by which people speak in a session, and end it: input, asks, answer, cancel."""

import io
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from moothall.app.moot import Moot
from moothall.app.reading_threads import run_on_own_thread
from moothall.domain.effects import Ask
from moothall.domain.ids import find_asked_seat, parse_seat_id, parse_session_id
from moothall.domain.person import PersonStep
from moothall.domain.safe_text import one_line, strip_control
from moothall.engine.outside_answers import OutstandingAsk
from moothall.errors import MootError, SessionClosed, UnknownAsk
from moothall.locale.catalogues import SESSION_COMMAND, SessionCommandText
from moothall.reading.person_asks import UnsaidWords, build_person_ask, find_unsaid_words
from moothall.surfaces.api.asks import (
    METHODS,
    AnswerPreviewOut,
    AskOut,
    AsksOut,
    GroupedAnswersOut,
    WrittenOut,
)
from moothall.surfaces.api.method import Call
from moothall.surfaces.cli import output
from moothall.surfaces.cli.main import guess_language
from moothall.surfaces.cli.operations import Command, call_command, perform, read_dash
from moothall.surfaces.cli.output import CommandResult, Note


async def describe_input(call: Call, written: WrittenOut) -> Iterable[str]:
    words = await _load_words(call.moot, written.session_id)
    if written.entry is None:
        return [words.recorded_before]
    timeline = await call.moot.load_timeline(written.session_id)
    number = next((line.id for line in timeline.lines if line.seq == written.entry), None)
    return [
        words.recorded_as.format(
            number=number, hint=await _find_hint(call.moot, written.session_id)
        )
    ]


give_input = Command(
    method=METHODS["moot.giveInput"],
    describe=describe_input,
    help="Add an input of yours to a running meeting. TEXT `-` reads standard input.",
    examples='moot input think_20261115_001 "We have six months of cash."',
    arguments=["session_id", "text"],
    prepare=read_dash,
).build("input")


async def describe_groups(call: Call, grouped: GroupedAnswersOut) -> Iterable[str]:
    words = await _load_words(call.moot, grouped.session_id)
    if not grouped.groups:
        return [words.no_groups]
    return [words.grouped.format(answers=" = ".join(each)) for each in grouped.groups]


group_answers = Command(
    method=METHODS["moot.groupAnswers"],
    describe=describe_groups,
    help="Count several answers of a running session as one, or with --part as different ones.",
    examples="""moot group think_20261115_001 "use PostgreSQL" PostgreSQL
    moot group think_20261115_001 "use MySQL" --part""",
    arguments=["session_id", "answers"],
).build("group")


async def describe_asks(call: Call, result: AsksOut) -> Iterable[str]:
    words = await _load_words(call.moot, result.session_id)
    lines = [line for each in result.asks for line in _describe_ask(each, result.session_id, words)]
    return lines or [Note(words.no_ask)]


@click.command()
@click.argument("session", required=False)
@click.option("--seat", help="Only what this seat is asked.")
@call_command
async def asks(call: Call, session: str | None, seat: str | None) -> CommandResult:
    """Show the open asks of mailbox seats, with everything that the seat may see.

    Without SESSION it prints a line for each open ask of all sessions.

    \b
    moot asks
    moot asks think_20261115_001
    moot asks think_20261115_001 --seat eve
    """
    if session is not None:
        one: AsksOut = await perform(
            METHODS["moot.getAsks"], call, {"sessionId": session, "seat": seat}
        )
        return CommandResult(json=one, lines=await describe_asks(call, one))
    waiting: list[AsksOut] = []
    lines: list[str] = []
    for line in await call.moot.sessions():
        if line.status != "thinking":
            continue
        asked: AsksOut = await perform(METHODS["moot.getAsks"], call, {"sessionId": line.session})
        chosen = [each for each in asked.asks if seat in {None, each.seat}]
        if chosen:
            waiting.append(asked.model_copy(update={"asks": chosen}))
        words = await _load_words(call.moot, line.session)
        for each in chosen:
            deadline = _format_deadline(each, words)
            lines.append(f"{line.session}  {each.seat}{deadline}  {one_line(line.topic)}")
    return CommandResult(
        json={"sessions": waiting}, lines=lines or [Note(SESSION_COMMAND[guess_language()].no_ask)]
    )


def _format_deadline(each: AskOut, words: SessionCommandText) -> str:
    if not each.deadline:
        return ""
    return words.ask_until.format(time=output.format_local(each.deadline))


def _describe_ask(each: AskOut, session: str, words: SessionCommandText) -> Iterator[str]:
    yield f"── {each.ask}{_format_deadline(each, words)}\n{each.briefing}\n\n{each.instructions}\n"
    steps = build_person_ask(each.brief).steps
    if steps:
        parts = [_describe_step(steps[0])]
        for step in steps[1:]:
            if step.is_needed and step.choices and step.only_after is None:
                parts.append(_describe_step(step))
        question = strip_control(" ".join(parts))
        yield f"{words.in_words.format(session=session, seat=each.seat, question=question)}\n"


def _describe_step(step: PersonStep) -> str:
    """The question of a step, with what it can be answered with."""
    if not step.choices:
        return step.text
    return f"{step.text} ({' | '.join(choice.text for choice in step.choices)})"


@click.command()
@click.argument("session")
@click.argument("text", required=False)
@click.option("--seat", required=True, help="The seat that answers.")
@click.option("--ask", "ask_id", help="The ask's id. Default: the one that waits for this seat.")
@click.option("--preview", is_flag=True, help="Say what would be understood, and record nothing.")
@call_command
async def answer(
    call: Call, session: str, text: str | None, seat: str, ask_id: str | None, *, preview: bool
) -> CommandResult:
    """Answer for a mailbox seat in plain words, or with the fields of the answer as JSON.

    `moot asks --json` prints the fields. TEXT `-`, or none in a pipe, reads standard input. Without TEXT at a terminal you
    are asked as in `moot sit`, once. A vote is read from its words: "I support it, because …", "Yes, if …", "反对"; several
    items are answered on lines that begin with their numbers.

    \b
    moot answer think_20261115_001 --seat eve "We should wait until spring."
    moot answer think_20261115_001 --seat eve "Yes, if the tests pass."
    moot answer think_20261115_001 --seat eve '{"reaction_score": 0.9, "intent_to_speak": true}'
    """
    moot = call.moot
    asked = None if ask_id is not None else await _find_ask(moot, session, seat)
    chosen = ask_id if asked is None else asked.ask.id
    assert chosen is not None
    if find_asked_seat(chosen) != seat:
        raise UnknownAsk(f"ask {chosen!r} is not put to seat {seat!r}")
    words: object = text
    further: UnsaidWords | None = None
    if asked is not None and text is None and sys.stdin.isatty():
        # Imported here: they bring the console, which nothing else of these commands needs.
        from moothall.participants.human import PersonInterview
        from moothall.surfaces.cli.person import PersonScreen, TerminalPrompt

        interview = PersonInterview()
        words = await interview.ask_for_answer(
            TerminalPrompt(PersonScreen(session, asked.pending.deadline)), asked.brief
        )
        further = interview.find_unsaid_words(asked.brief)
        if words is None:
            return await _record_nothing(moot, session)
    elif text is None or text == "-":
        words = await run_on_own_thread(_read_piped_text)
    given = {"sessionId": session, "seat": seat, "answer": words}
    if preview:
        read: AnswerPreviewOut = await perform(METHODS["moot.previewAnswer"], call, given)
        return CommandResult(json=read, lines=[await _describe_reading(moot, read)])
    understood = await _find_understood(call, given) if isinstance(words, str) else ""
    if understood and sys.stdin.isatty() and not click.confirm(understood, default=True):
        return await _record_nothing(moot, session)
    written = await perform(METHODS["moot.answer"], call, {**given, "ask": chosen})
    if asked is not None:
        await _say_unsaid_words(
            moot, session, asked.ask, further or find_unsaid_words(asked.brief, words)
        )
    if (await moot.engine.load_snapshot(parse_session_id(session))).is_closed:
        await moot.remembering.remember(session)
    line = (await _load_words(moot, session)).recorded.format(hint=await _find_hint(moot, session))
    return CommandResult(json=written, lines=[understood, line] if understood else [line])


def _read_piped_text() -> str:
    """What stands on standard input, as text; raises UnicodeDecodeError where it is none."""
    # Imported here: a text on the command line needs no reader of files.
    from moothall.app.given_files import read_stdin

    with io.TextIOWrapper(io.BytesIO(read_stdin()), encoding="utf-8") as text:
        return text.read()


async def _record_nothing(moot: Moot, session: str) -> CommandResult:
    nothing = (await _load_words(moot, session)).nothing_recorded
    return CommandResult(json=WrittenOut(session_id=session), lines=[Note(nothing)])


async def _find_understood(call: Call, given: dict[str, Any]) -> str:
    """Return what words are read as; empty where no choice is taken from a sentence."""
    try:
        read = await perform(METHODS["moot.previewAnswer"], call, given)
    except MootError:
        # A repeated answer is found again though nothing is asked now; any other fault is raised when it is recorded.
        return ""
    return await _describe_reading(call.moot, read) if read.from_words else ""


async def _describe_reading(moot: Moot, read: AnswerPreviewOut) -> str:
    fields = json.dumps(read.fields, ensure_ascii=False)
    return (await _load_words(moot, read.session_id)).understood.format(answer=fields)


@click.command()
@click.argument("session")
@click.option("--reason", default="", help="Stored with the record.")
@click.option("--dry-run", is_flag=True, help="Print what would happen; change nothing.")
@call_command
async def cancel(call: Call, session: str, reason: str, dry_run: bool) -> CommandResult:
    """End a session without a decision. Its record stays.

    \b
    moot cancel think_20261115_001 --reason "asked the wrong question"
    """
    words = await _load_words(call.moot, session)
    if not dry_run:
        written = await perform(
            METHODS["moot.cancelSession"], call, {"sessionId": session, "reason": reason}
        )
        return CommandResult(json=written, lines=[words.cancelled.format(entry=written.entry)])
    decision = await call.moot.decision(session)
    if decision.status in {"concluded", "cancelled"}:
        raise SessionClosed(f"session {session!r} has ended; there is nothing to cancel")
    line = words.would_cancel.format(session=session, turns=decision.turns)
    return CommandResult(
        json={"sessionId": session, "wouldCancel": True, "turns": decision.turns}, lines=[line]
    )


async def _find_hint(moot: Moot, session: str) -> str:
    """Say how the session goes on, or that it has ended; nothing where a process runs it."""
    words = await _load_words(moot, session)
    if (await moot.engine.load_snapshot(parse_session_id(session))).is_closed:
        return words.has_ended.format(session=session)
    return "" if await moot.is_running(session) else words.goes_on.format(session=session)


async def _load_words(moot: Moot, session: str) -> SessionCommandText:
    """Return what commands say about a session, in its language."""
    return SESSION_COMMAND[
        (await moot.engine.load_snapshot(parse_session_id(session))).session_state.opened.language
    ]


async def _find_ask(moot: Moot, session: str, seat: str) -> OutstandingAsk:
    """Return what a seat is asked now. Raises UnknownAsk when nothing is."""
    if (
        offered := await moot.engine.find_open_ask(parse_session_id(session), parse_seat_id(seat))
    ) is not None:
        return offered
    outstanding = await moot.asks(session)
    for each in outstanding:
        if each.ask.seat == seat:
            return each
    others = ", ".join(each.ask.seat for each in outstanding) or "nobody"
    raise UnknownAsk(f"no ask is open for {seat!r}; waiting for: {others}")


async def _say_unsaid_words(
    moot: Moot, session: str, asked: Ask, further: UnsaidWords | None
) -> None:
    """Say what a person asked for the floor with, where it got the floor at once: nobody is asked for the same words twice."""
    if further is None or (await moot.engine.load_snapshot(parse_session_id(session))).is_closed:
        return
    offered = await moot.engine.find_open_ask(parse_session_id(session), asked.seat)
    if offered is not None and (offered.ask.kind, offered.ask.turn) == (further.kind, asked.turn):
        await moot.answer(session, offered.ask.id, further.text)
