"""`moot review`: a diff or files before a board of reviewers."""

import os
from pathlib import Path
from typing import get_args

import click

from moothall.features.review.facts import Verdict
from moothall.features.review.material import (
    Reviewed,
    build_review_options,
    describe_parts,
    find_tree,
    read_reviewed,
)
from moothall.features.review.words import REVIEW_REPORT
from moothall.plugins import (
    BadSetting,
    HoldOptions,
    Moot,
    Options,
    WaitCommand,
    open_and_hold,
    output,
    session_options,
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

    def prepare() -> tuple[str, Options]:
        _check_folders(sarif, markdown)
        wanted = Reviewed(sources=sources, diff=None if diff is None else Path(diff), commits=span)
        files = read_reviewed(wanted, os.environ)
        return build_review_options(files, about, options, find_tree(wanted))

    async def finish(moot: Moot, session: str, code: int) -> int:
        await _write_forms(moot, session, {"sarif": sarif, "summary": markdown})
        # Advice: a review that ended without a verdict has still said what it saw.
        return output.DONE if code == output.UNDECIDED and not hold.required else code

    open_and_hold(
        prepare,
        hold,
        choices=get_args(Verdict),
        describe=describe_parts,
        is_described=True,
        finish=finish,
    )


def _check_folders(*names: str | None) -> None:
    for name in filter(None, names):
        if not Path(name).absolute().parent.is_dir():
            raise BadSetting(f"{name} cannot be written: there is no such folder")


async def _write_forms(moot: Moot, session: str, files: dict[str, str | None]) -> None:
    decision, timeline = await moot.decision(session), await moot.load_timeline(session)
    for form, name in files.items():
        if name is None:
            continue
        if form == "sarif" and not decision.choice:
            output.print_note(REVIEW_REPORT[timeline.language].no_sarif.format(file=name))
            continue
        text = await moot.export(session, form)
        output.write_file(name, text, command=f"`moot export {session} {form}` writes it")
