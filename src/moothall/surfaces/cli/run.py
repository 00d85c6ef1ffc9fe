"""`moot run`: a meeting on a topic."""

import click

from moothall.app.session_options import Options
from moothall.surfaces.cli.options import HoldOptions, WaitCommand, session_options
from moothall.surfaces.cli.terminal_session import open_and_hold


@click.command(cls=WaitCommand)
@click.argument("topic")
@session_options("run")
def run(*, topic: str, options: Options, hold: HoldOptions) -> None:
    """Hold a meeting on TOPIC and print the decision.

    Without --seat and --panel, Moot fills the default panel with the participants that it finds: providers with a key in the
    environment, a model server on this machine, or the embedded model.

    \b
    moot run "Should we rewrite the product?"
    moot run "Should we hire?" --panel board --model openai:gpt-5-mini
    moot run "A or B?" --seat ada=openai:gpt-5-mini --seat bob=embedded
    moot run "A or B?" --protocol debate --option A --option B --stakes high
    """
    open_and_hold(lambda: (topic, options), hold)
