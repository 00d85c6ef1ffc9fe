"""`moot show`: the memo of a session, what was argued, and the whole record behind it."""

from dataclasses import replace
from typing import Literal

import click

from moothall.app.moot import Moot
from moothall.app.requirement import Requirement, add_gate
from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting
from moothall.locale.catalogues import SESSION_COMMAND
from moothall.reports.memo import build_memo, encode_with_memo
from moothall.surfaces.cli import output
from moothall.surfaces.cli.requirement import check_required, judge_exit, require_option

Part = Literal["minutes", "memo", "report", "figures", "record", "json"]
"""What of a session is shown, and in which form."""


@click.command()
@click.argument("session")
@click.option(
    "--report",
    "as_report",
    is_flag=True,
    help="Print the whole report as terminal lines instead of Markdown.",
)
@click.option(
    "--memo",
    "as_memo",
    is_flag=True,
    help="Print only the memo: what was decided, by whom, and what is next.",
)
@click.option(
    "--figures",
    "as_figures",
    is_flag=True,
    help="Print only the figures: support, chances, what it cost.",
)
@click.option(
    "--record",
    "as_record",
    is_flag=True,
    help="Print only how it was recorded: models, doors, single losses.",
)
@require_option
@output.json_option
def show(
    *,
    session: str,
    as_report: bool,
    as_memo: bool,
    as_figures: bool,
    as_record: bool,
    required: Requirement,
    as_json: bool,
) -> None:
    """Show a session: its memo, what was argued, and what was said.

    \b
    moot show think_20261115_001
    moot show think_20261115_001 --memo
    moot show think_20261115_001 --figures
    moot show think_20261115_001 --report
    moot show think_20261115_001 --require approve
    """
    given: dict[Part, bool] = {
        "memo": as_memo,
        "report": as_report,
        "figures": as_figures,
        "record": as_record,
        "json": as_json,
    }

    async def work() -> int:
        part = _choose_part(given)
        check_required(required)
        async with Moot() as moot:
            await _print_part(moot, session, part, required)
            if not required:
                return output.DONE
            snapshot = await moot.engine.load_snapshot(parse_session_id(session))
            code, reason = judge_exit(
                await moot.decision(session), required, snapshot.session_state.opened.language
            )
        output.print_note(reason)
        return code

    raise SystemExit(output.run(work, as_json=as_json))


def _choose_part(given: dict[Part, bool]) -> Part:
    """Return the one part that is asked for; the minutes where none is. Raises BadSetting for two."""
    asked = [part for part, is_asked in given.items() if is_asked]
    if len(asked) > 1:
        names = " and ".join(f"--{part}" for part in asked)
        raise BadSetting(f"{names}: each shows something else of a session; give one of them")
    if asked:
        return asked[0]
    return "minutes"


async def _print_part(moot: Moot, session: str, part: Part, required: Requirement) -> None:
    match part:
        case "json":
            output.print_json(encode_with_memo(add_gate(await moot.decision(session), required)))
        case "memo":
            await _print_memo(moot, session)
        case "report" | "figures" | "record":
            await _print_review(moot, session)
            await _print_lines(moot, session, part)
        case "minutes":
            await _print_review(moot, session)
            await _print_minutes(moot, session)


async def _print_memo(moot: Moot, session: str) -> None:
    """Print what a person reads first of a session, one line for each thing that it says."""
    decision = await moot.decision(session)
    for line in build_memo(decision, decision.language).all_lines:
        output.print_line(line.text)


async def _print_review(moot: Moot, session: str) -> None:
    """Note how the decision turned out, where it was reviewed."""
    if not await moot.may_remember("memory.outcome_reviewed", session):
        return
    decision = await (await moot.recall()).get(session)
    if decision is None or decision.review is None:
        return
    note = f" ({one_line(decision.review.note)})" if decision.review.note else ""
    snapshot = await moot.engine.load_snapshot(parse_session_id(session))
    words = SESSION_COMMAND[snapshot.session_state.opened.language]
    output.print_note(words.turned_out.format(outcome=decision.review.outcome, note=note))


async def _print_lines(
    moot: Moot, session: str, part: Literal["report", "figures", "record"]
) -> None:
    """Print the whole report as terminal lines, or one of its folds."""
    from moothall.surfaces.cli.render import show_fold, show_report  # what draws, for this alone

    plugin = await moot.load_plugin(session)
    report = plugin.report(await moot.load_timeline(session))
    console = output.build_console()
    if part == "report":
        show_report(console, report)
    else:
        show_fold(console, report, part)


async def _print_minutes(moot: Moot, session: str) -> None:
    """Print the minutes: whole for a file or a program; for a reader without the figures and how it was recorded."""
    if not output.has_reader():
        await output.print_parts(
            output.localize_times(part) async for part in moot.stream_export(session, "minutes")
        )
        return
    from rich.markdown import Markdown  # a tenth of a command's start, for this one alone

    from moothall.app.session_reader import describe_import
    from moothall.reports.plain_text import render_markdown

    plugin, timeline = await moot.load_plugin(session), await moot.load_timeline(session)
    report = replace(plugin.report(timeline), folds=())
    note = await describe_import(moot, parse_session_id(session), timeline.language)
    text = output.localize_times(f"{note}{render_markdown(report)}")
    output.print_paged(output.build_console(), Markdown(text, hyperlinks=False))
    words = SESSION_COMMAND[timeline.language]
    output.print_note(words.more_shown.format(session=session))
