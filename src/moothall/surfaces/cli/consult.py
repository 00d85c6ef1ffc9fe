"""`moot consult`: one seat's question to another, with its record."""

from typing import get_args

import click

from moothall.app.rosters import build_consultation_options
from moothall.app.session_options import Options
from moothall.domain.consult import ConsultKind
from moothall.surfaces.cli.options import HoldOptions, WaitCommand, session_options
from moothall.surfaces.cli.terminal_session import open_and_hold


@click.command(cls=WaitCommand)
@click.argument("question")
@click.option("--from", "asker", required=True, metavar="NAME", help="Who asks: you, or another agent; needs no platform.")
@click.option("--to", required=True, metavar="NAME", help="Who is asked.")
@click.option("--background", default="", help="Why the question is asked.")
@click.option("--understanding", default="", help="What the asker believes so far.")
@click.option("--kind", type=click.Choice(get_args(ConsultKind)), default="knowledge", show_default=True)
@session_options("consult")
def consult(*, question: str, asker: str, to: str, options: Options, hold: HoldOptions, **settings: str) -> None:
    """Ask one participant on behalf of another, with a record.

    QUESTION is put through the director; the reply is printed, and the record written to docs/consultation/{i}_{from}_{to}.md.

    \b
    moot consult --from modeler --to researcher --seat researcher=openai:gpt-5-mini "Which methods forecast short series?"
    moot consult --from writer --to historian --panel red-team "Is the claim in section 2 sound?"
    """
    open_and_hold(lambda: (question, build_consultation_options(asker, to, question, options, settings)), hold)
