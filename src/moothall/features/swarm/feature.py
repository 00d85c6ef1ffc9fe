"""The row of swarms."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

FEATURE: Final = Feature(
    name="swarm",
    package="moothall",
    protocols={"swarm": "protocols.swarm.plugin:SWARM"},
    openers=(
        OpenerRow(
            name="swarm",
            protocol="swarm",
            refuses={
                "protocol": "a swarm is held by the protocol swarm; to choose a protocol, use run",
                "depth": "only a debate starts with one mind; use `run --protocol debate`",
            },
        ),
    ),
    commands=(
        CommandRow(
            name="swarm",
            place="surfaces.cli.run:swarm",
            group="Ask",
            summary="Run equal explorers on TASK, round by round, until their ideas are stable, shared and diverse enough.",
            is_slow=True,
        ),
    ),
    operations=("surfaces.api.swarm:METHODS",),
    session_folders={"swarm": "app.swarm_runs:keep_run_folder"},
    live_views={"swarm": "surfaces.cli.swarm_view:SwarmView"},
)
