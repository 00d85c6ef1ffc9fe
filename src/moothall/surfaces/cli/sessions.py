"""Commands on sessions: show, input, asks, answer, cancel."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from moothall.app.moot import Moot
from moothall.codec.answers import as_json
from moothall.codec.person_asks import UnsaidWords, build_person_ask, find_unsaid_words
from moothall.codec.schemas import build_brief_schema
from moothall.domain.effects import Ask
from moothall.domain.facts import list_worded_choices
from moothall.domain.ids import parse_seat_id, parse_session_id
from moothall.domain.person import PersonStep
from moothall.domain.safe_text import one_line, strip_control
from moothall.engine.outside_answers import OutstandingAsk
from moothall.errors import BadSetting, MootError, SessionClosed, UnknownAsk
from moothall.locale.catalogues import SESSION_COMMAND, SessionCommandText
from moothall.participants.human import PersonInterview
from moothall.participants.local_machine import name_local_door
from moothall.surfaces.cli import output
from moothall.surfaces.cli.output import CommandResult, Note, moot_command
from moothall.surfaces.cli.person import PersonScreen, TerminalPrompt
from moothall.surfaces.cli.render import show_report
from moothall.surfaces.cli.requirement import check_required, judge_decision, require_option


@click.command()
@click.argument("session")
@click.option("--report", "as_report", is_flag=True, help="Print the whole report as terminal lines instead of Markdown.")
@require_option
@output.json_option
def show(session: str, as_report: bool, required: tuple[str, ...], as_json: bool) -> None:
    """Show a session: its decision and the whole record behind it.

    \b
    moot show think_20261115_001
    moot show think_20261115_001 --report
    moot show think_20261115_001 --require approve
    """

    async def work() -> int:
        if as_report and as_json:
            raise BadSetting("--report and --json are two forms of the same; give one of them")
        check_required(required)
        async with Moot() as moot:
            await _print_session(moot, session, as_report=as_report, as_json=as_json)
            if not required:
                return output.DONE
            snapshot = await moot.engine.load_snapshot(parse_session_id(session))
            judgement = judge_decision(await moot.decision(session), required, snapshot.session_state.opened.language)
        output.print_note(judgement.reason)
        return judgement.code

    raise SystemExit(output.run(work, as_json=as_json))


async def _print_session(moot: Moot, session: str, *, as_report: bool, as_json: bool) -> None:
    if as_json:
        output.print_json((await moot.decision(session)).to_json())
        return
    decision = await (await moot.recall()).get(session)
    if decision is not None and decision.review is not None:
        note = f" ({one_line(decision.review.note)})" if decision.review.note else ""
        words = await _load_words(moot, session)
        output.print_note(words.turned_out.format(outcome=decision.review.outcome, note=note))
    console = output.build_console()
    if as_report:
        plugin = await moot.load_plugin(session)
        show_report(console, plugin.report(await moot.load_timeline(session)))
    elif not console.is_terminal:
        await output.print_parts(output.localize_times(part) async for part in moot.stream_export(session, "minutes"))
    else:
        from rich.markdown import Markdown  # a tenth of a command's start, for this one alone

        output.print_paged(console, Markdown(output.localize_times(await moot.export(session, "minutes")), hyperlinks=False))


@click.command("input")
@click.argument("session")
@click.argument("text")
@click.option("--key", default="", help="Idempotency key: an input with a recorded key is ignored.")
@moot_command
async def give_input(moot: Moot, session: str, text: str, key: str) -> CommandResult:
    """Add an input of yours to a running meeting. TEXT `-` reads standard input.

    \b
    moot input think_20261115_001 "We have six months of cash."
    """
    entry = await moot.give_input(session, sys.stdin.read() if text == "-" else text, key)
    timeline, words = await moot.load_timeline(session), await _load_words(moot, session)
    number = next((line.id for line in timeline.lines if entry is not None and line.seq == entry.seq), None)
    line = words.recorded_before
    if entry is not None:
        line = words.recorded_as.format(number=number, hint=await _find_hint(moot, session))
    result = {"session": session, "taken": entry is not None, "entry": entry.seq if entry else None}
    return CommandResult(json=result, lines=[line])


@click.command()
@click.argument("session")
@moot_command
async def asks(moot: Moot, session: str) -> CommandResult:
    """Show the open asks of mailbox seats, with everything that the seat may see.

    \b
    moot asks think_20261115_001
    """
    outstanding, words = await moot.asks(session), await _load_words(moot, session)
    lines = [line for each in outstanding for line in _describe_ask(each, session, words)]
    return CommandResult(json=[_build_ask_json(each) for each in outstanding], lines=lines or [Note(words.no_ask)])


def _describe_ask(each: OutstandingAsk, session: str, words: SessionCommandText) -> Iterator[str]:
    deadline = each.pending.deadline
    until = words.ask_until.format(time=output.format_local(deadline)) if deadline else ""
    yield f"── {each.ask.id}{until}\n{strip_control(each.brief.shared)}\n\n{strip_control(each.brief.own)}\n"
    steps = build_person_ask(each.brief).steps
    if steps:
        needed = [step for step in steps[1:] if step.is_needed and step.choices and step.only_after is None]
        question = strip_control(" ".join(map(_describe_step, (steps[0], *needed))))
        yield f"{words.in_words.format(session=session, seat=each.ask.seat, question=question)}\n"


def _describe_step(step: PersonStep) -> str:
    return f"{step.text} ({' | '.join(choice.text for choice in step.choices)})" if step.choices else step.text


@click.command()
@click.argument("session")
@click.argument("text", required=False)
@click.option("--seat", required=True, help="The seat that answers.")
@click.option("--ask", "ask_id", help="The ask's id. Default: the one that waits for this seat.")
@click.option("--preview", is_flag=True, help="Say what would be understood, and record nothing.")
@moot_command
async def answer(moot: Moot, session: str, text: str | None, seat: str, ask_id: str | None, *, preview: bool) -> CommandResult:
    """Answer for a mailbox seat in plain words, or with the fields of the answer as JSON.

    `moot asks --json` prints the fields. TEXT `-`, or none in a pipe, reads standard input. Without TEXT at a terminal you
    are asked as in `moot sit`, once. A vote is read from its words: "I support it, because …", "Yes, if …", "反对"; several
    items are answered on lines that begin with their numbers.

    \b
    moot answer think_20261115_001 --seat eve "We should wait until spring."
    moot answer think_20261115_001 --seat eve "Yes, if the tests pass."
    moot answer think_20261115_001 --seat eve '{"reaction_score": 0.9, "intent_to_speak": true}'
    """
    asked = None if ask_id is not None else await _find_ask(moot, session, seat)
    chosen = ask_id if asked is None else asked.ask.id
    assert chosen is not None
    if chosen.split(".", 2)[-1] != seat:
        raise UnknownAsk(f"ask {chosen!r} is not put to seat {seat!r}")
    words: object = text
    interview = PersonInterview()
    if asked is not None and text is None and sys.stdin.isatty():
        prompt = TerminalPrompt(PersonScreen(session, asked.pending.deadline))
        words = await interview.ask_for_answer(prompt, asked.brief)
        if words is None:
            return await _record_nothing(moot, session, chosen)
    elif text is None or text == "-":
        words = sys.stdin.read()
    understood = await _describe_reading(moot, session, seat, words, is_needed=preview) if isinstance(words, str) else ""
    if preview:
        return CommandResult(json={"session": session, "ask": chosen, "understood": understood}, lines=[understood])
    if understood and sys.stdin.isatty() and not click.confirm(understood, default=True):
        return await _record_nothing(moot, session, chosen)
    via = await moot.access.mark_owner(session, seat, name_local_door())
    entry = await moot.answer(session, chosen, words, via=via)
    if asked is not None:
        further = interview.find_unsaid_words(asked.brief) or find_unsaid_words(asked.brief, words)
        await _say_unsaid_words(moot, session, asked.ask, further)
    if (await moot.engine.load_snapshot(parse_session_id(session))).is_closed:
        await moot.remembering.remember(session)
    line = (await _load_words(moot, session)).recorded.format(hint=await _find_hint(moot, session))
    lines = [understood, line] if understood else [line]
    return CommandResult(json={"session": session, "ask": chosen, "entry": entry.seq}, lines=lines)


async def _record_nothing(moot: Moot, session: str, ask: str) -> CommandResult:
    nothing = (await _load_words(moot, session)).nothing_recorded
    return CommandResult(json={"session": session, "ask": ask, "entry": None}, lines=[Note(nothing)])


async def _describe_reading(moot: Moot, session: str, seat: str, words: str, *, is_needed: bool) -> str:
    """Return what words are read as; empty where no choice is taken from a sentence, unless it is needed."""
    try:
        read = await moot.engine.preview_answer(parse_session_id(session), parse_seat_id(seat), words)
    except MootError:
        # A repeated answer is found again though nothing is asked now; any other fault is raised when it is recorded.
        if is_needed:
            raise
        return ""
    fields = json.dumps(as_json(read.said), ensure_ascii=False)
    is_shown = is_needed or bool(list_worded_choices(read.mends))
    return (await _load_words(moot, session)).understood.format(answer=fields) if is_shown else ""


@click.command()
@click.argument("session")
@click.option("--reason", default="", help="Stored with the record.")
@click.option("--dry-run", is_flag=True, help="Print what would happen; change nothing.")
@moot_command
async def cancel(moot: Moot, session: str, reason: str, dry_run: bool) -> CommandResult:
    """End a session without a decision. Its record stays.

    \b
    moot cancel think_20261115_001 --reason "asked the wrong question"
    """
    words = await _load_words(moot, session)
    if not dry_run:
        entry = await moot.cancel(session, reason)
        return CommandResult(json={"session": session, "entry": entry.seq}, lines=[words.cancelled.format(entry=entry.seq)])
    decision = await moot.decision(session)
    if decision.status in {"concluded", "cancelled"}:
        raise SessionClosed(f"session {session!r} has ended; there is nothing to cancel")
    line = words.would_cancel.format(session=session, turns=decision.turns)
    return CommandResult(json={"session": session, "would_cancel": True, "turns": decision.turns}, lines=[line])


async def _find_hint(moot: Moot, session: str) -> str:
    """Say how the session goes on, or that it has ended; nothing where a process runs it."""
    words = await _load_words(moot, session)
    if (await moot.engine.load_snapshot(parse_session_id(session))).is_closed:
        return words.has_ended.format(session=session)
    return "" if await moot.is_running(session) else words.goes_on.format(session=session)


async def _load_words(moot: Moot, session: str) -> SessionCommandText:
    """Return what commands say about a session, in its language."""
    return SESSION_COMMAND[(await moot.engine.load_snapshot(parse_session_id(session))).session_state.opened.language]


async def _find_ask(moot: Moot, session: str, seat: str) -> OutstandingAsk:
    """Return what a seat is asked now; raises UnknownAsk."""
    offered = await moot.engine.find_open_ask(parse_session_id(session), parse_seat_id(seat))
    return offered or _find_waiting(await moot.asks(session), seat)


async def _say_unsaid_words(moot: Moot, session: str, asked: Ask, further: UnsaidWords | None) -> None:
    """Say what a person asked for the floor with, where it got the floor at once: nobody is asked for the same words twice."""
    if further is None or (await moot.engine.load_snapshot(parse_session_id(session))).is_closed:
        return
    offered = await moot.engine.find_open_ask(parse_session_id(session), asked.seat)
    if offered is not None and (offered.ask.kind, offered.ask.turn) == (further.kind, asked.turn):
        await moot.answer(session, offered.ask.id, further.text)


def _find_waiting(outstanding: list[OutstandingAsk], seat: str) -> OutstandingAsk:
    mine = [each for each in outstanding if each.ask.seat == seat]
    if not mine:
        others = ", ".join(each.ask.seat for each in outstanding) or "nobody"
        raise UnknownAsk(f"no ask is open for {seat!r}; waiting for: {others}")
    return mine[0]


def _build_ask_json(each: OutstandingAsk) -> dict[str, Any]:
    return {
        "ask": each.ask.id,
        "seat": each.ask.seat,
        "kind": each.ask.kind,
        "deadline": each.pending.deadline,
        "form": each.brief.form.form,
        "schema": build_brief_schema(each.brief),
        "system": each.brief.system,
        "shared": each.brief.shared,
        "own": each.brief.own,
    }
