"""`moot`: the commands together."""

import click

from moot.surfaces.cli import consult, meeting, memory, pipeline, records, roundtable, serve, sessions, setup, swarm

EPILOG = """\b
Exit codes: 0 done · 1 the world failed (a disk, a provider) · 2 the call was wrong · 3 the session waits for seats elsewhere ·
4 it ended without a decision · 5 a check failed · 130 interrupted
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(package_name="moot", prog_name="moot")
def main() -> None:
    """Moot puts a question before a group of minds and hands back a decision that can be audited.

    \b
    moot run "Should a small team rewrite its working product from scratch?"
    """


for command in (
    meeting.run,
    meeting.resume,
    meeting.watch,
    consult.consult,
    pipeline.pipeline,
    swarm.swarm,
    swarm.swarm_report,
    sessions.list_sessions,
    sessions.show,
    sessions.give_input,
    sessions.asks,
    sessions.answer,
    sessions.cancel,
    records.export,
    records.import_file,
    records.replay,
    records.fork,
    records.diff,
    records.verify,
    roundtable.roundtable,
    memory.decisions,
    memory.trust,
    memory.breakers,
    serve.serve,
    serve.mcp,
    serve.invite,
    setup.panel,
    setup.setup,
    setup.doctor,
):
    main.add_command(command)


if __name__ == "__main__":
    main()
