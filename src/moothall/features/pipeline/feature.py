"""The row of pipelines."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

FEATURE: Final = Feature(
    name="pipeline",
    package="moothall.features.pipeline",
    protocols={"pipeline": "plugin:PIPELINE"},
    openers=(
        OpenerRow(
            name="pipeline",
            protocol="pipeline",
            refuses={
                "panel": "the pipeline's file names its agents; fill them with seats or models",
                "protocol": "a pipeline is held by the protocol pipeline; to choose a protocol, use run",
                "depth": "only a debate starts with one mind; use `run --protocol debate`",
            },
        ),
    ),
    commands=(
        CommandRow(
            name="pipeline",
            place="command:pipeline",
            group="Ask",
            summary="Run a task through steps: one agent at a time, with artefacts, validation gates and consultations.",
        ),
    ),
    session_folders={"pipeline": "files:keep_artefacts"},
    operations=("operations:METHODS",),
    help="help",
)
