"""`moot show`: a session's decision, and the whole record behind it."""

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
@require_option
@output.json_option
def show(
    session: str, as_report: bool, as_memo: bool, required: Requirement, as_json: bool
) -> None:
    """Show a session: its decision and the whole record behind it.

    \b
    moot show think_20261115_001
    moot show think_20261115_001 --memo
    moot show think_20261115_001 --report
    moot show think_20261115_001 --require approve
    """

    async def work() -> int:
        if as_memo and (as_report or as_json):
            raise BadSetting("--memo is a form of its own; leave out --report and --json")
        if as_report and as_json:
            raise BadSetting("--report and --json are two forms of the same; give one of them")
        check_required(required)
        async with Moot() as moot:
            if as_memo:
                await _print_memo(moot, session)
            else:
                await _print_session(
                    moot, session, as_report=as_report, as_json=as_json, required=required
                )
            if not required:
                return output.DONE
            snapshot = await moot.engine.load_snapshot(parse_session_id(session))
            code, reason = judge_exit(
                await moot.decision(session), required, snapshot.session_state.opened.language
            )
        output.print_note(reason)
        return code

    raise SystemExit(output.run(work, as_json=as_json))


async def _print_memo(moot: Moot, session: str) -> None:
    """Print what a person reads first of a session, one line for each thing that it says."""
    decision = await moot.decision(session)
    for line in build_memo(decision, decision.language).all_lines:
        output.print_line(line.text)


async def _print_session(
    moot: Moot, session: str, *, as_report: bool, as_json: bool, required: Requirement
) -> None:
    if as_json:
        output.print_json(encode_with_memo(add_gate(await moot.decision(session), required)))
        return
    decision = None
    if await moot.may_remember("memory.outcome_reviewed", session):
        decision = await (await moot.recall()).get(session)
    if decision is not None and decision.review is not None:
        note = f" ({one_line(decision.review.note)})" if decision.review.note else ""
        language = (
            await moot.engine.load_snapshot(parse_session_id(session))
        ).session_state.opened.language
        output.print_note(
            SESSION_COMMAND[language].turned_out.format(outcome=decision.review.outcome, note=note)
        )
    if as_report:
        from moothall.surfaces.cli.render import show_report  # what draws is loaded for this alone

        plugin = await moot.load_plugin(session)
        show_report(output.build_console(), plugin.report(await moot.load_timeline(session)))
    elif not output.has_reader():
        await output.print_parts(
            output.localize_times(part) async for part in moot.stream_export(session, "minutes")
        )
    else:
        from rich.markdown import Markdown  # a tenth of a command's start, for this one alone

        output.print_paged(
            output.build_console(),
            Markdown(
                output.localize_times(await moot.export(session, "minutes")), hyperlinks=False
            ),
        )
