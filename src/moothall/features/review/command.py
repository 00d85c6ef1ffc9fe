"""`moot review`: a diff or files before a board of reviewers."""

import os
from pathlib import Path
from typing import get_args

import click

from moothall.app.estimates import estimate_session
from moothall.app.opening import open_planned
from moothall.app.reading_threads import run_on_own_thread
from moothall.disk.private import open_output
from moothall.features.review.facts import Verdict
from moothall.features.review.material import build_review_options, describe_parts, read_reviewed
from moothall.features.review.words import REVIEW_REPORT
from moothall.plugins import (
    BadSetting,
    HoldOptions,
    Language,
    Moot,
    Options,
    TerminalSession,
    WaitCommand,
    output,
    parse_session_id,
    session_options,
)
from moothall.surfaces.cli.requirement import check_gate_seats, check_required
from moothall.surfaces.cli.terminal_session import (
    build_plan_result,
    describe_estimate,
    print_left_out,
    print_models,
    warn_of_price,
)


@click.command(cls=WaitCommand)
@click.argument("sources", nargs=-1, metavar="[FILE… | -]")
@click.option("--diff", metavar="FILE", help="A diff or patch to review.")
@click.option("--range", "span", metavar="A..B", help="Review what `git diff A..B` shows here.")
@click.option(
    "--about",
    metavar="TEXT",
    help="What the change is meant to do. Default: the names of its files.",
)
@click.option(
    "--sarif",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the findings as SARIF 2.1.0 as well.",
)
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write verdict and findings as Markdown as well.",
)
@session_options("review")
def review(
    *,
    sources: tuple[str, ...],
    diff: str | None,
    span: str | None,
    about: str | None,
    sarif: str | None,
    markdown: str | None,
    options: Options,
    hold: HoldOptions,
) -> None:
    """Review a diff, or whole files: a verdict, and findings with the lines that prove them.

    Every reviewer reads the change alone. Code checks the quoted lines and merges what was raised; what few raised is checked by
    the others, and what is disputed is voted on. Without --require it advises: it ends with 0 whatever the verdict is. --require
    approve lets it gate. Without --panel and --seat the shipped panel `reviewers` sits.

    \b
    git diff main | moot review -
    moot review --range main..HEAD --require approve --money 0.50
    moot review --diff change.patch --sarif findings.sarif --markdown findings.md
    moot review src/app.py --panel red-team --dry-run
    """
    terminal = TerminalSession(required=hold.required, is_quiet=hold.quiet)

    async def work() -> int:
        check_required(hold.required, get_args(Verdict))
        _check_folders(sarif, markdown)
        files = await run_on_own_thread(lambda: read_reviewed(sources, diff, span, os.environ))
        topic, planned = build_review_options(files, about, options)
        async with terminal.open_moot() as moot:
            plan = await moot.plan_session(topic, **planned)
            check_gate_seats(hold.required, plan.opened.seats)
            if hold.dry_run:
                shown = build_plan_result(moot, plan, describe_parts)
                shown.print(as_json=hold.as_json)
                return shown.code
            expected = describe_estimate(
                estimate_session(plan.opened, moot.seating.kinds), plan.opened.language
            )
            if not hold.quiet:
                print_left_out(plan)
            if not (hold.as_json or hold.quiet):
                print_models(moot, plan)
                output.print_note("\n".join((*describe_parts(plan.opened), expected[0])))
            warn_of_price(moot, plan.opened)
            terminal.session = await open_planned(moot, plan)
            code = await terminal.hold(moot, as_json=hold.as_json, wait=hold.wait)
            await _write_forms(
                moot, terminal.session, {"sarif": sarif, "summary": markdown}, plan.opened.language
            )
        # Advice: a review that ended without a verdict has still said what it saw.
        return output.DONE if code == output.UNDECIDED and not hold.required else code

    raise SystemExit(output.run(work, as_json=hold.as_json, stopped=terminal.describe_stop))


def _check_folders(*names: str | None) -> None:
    for name in filter(None, names):
        if not Path(name).absolute().parent.is_dir():
            raise BadSetting(f"{name} cannot be written: there is no such folder")


async def _write_forms(
    moot: Moot, session: str, files: dict[str, str | None], language: Language
) -> None:
    decision = await moot.decision(session)
    for form, name in files.items():
        if name is None:
            continue
        if form == "sarif" and not decision.choice:
            output.print_note(REVIEW_REPORT[language].no_sarif.format(file=name))
            continue
        text = await moot.export(parse_session_id(session), form)
        try:
            with open_output(Path(name)) as file:
                file.write(text)
        except OSError as cause:
            raise BadSetting(
                f"{name} cannot be written: {cause.strerror}",
                command=f"`moot export {session} {form}` writes it",
            ) from cause
