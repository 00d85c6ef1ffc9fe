"""The row of demos."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature

FEATURE: Final = Feature(
    name="demos",
    package="moothall.features.demos",
    commands=(
        CommandRow(
            name="demo",
            place="command:demo",
            group="First",
            summary="Play a meeting of PROTOCOL that was written in advance: a real question, real disagreement, a decision.",
            is_slow=True,
        ),
    ),
    operations=("operations:METHODS",),
    help="help",
)
