"""The row of the bench."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature

FEATURE: Final = Feature(
    name="bench",
    package="moothall.features.bench",
    commands=(
        CommandRow(
            name="bench",
            place="command:bench",
            group="Ask",
            summary="Try each model alone, their blind vote, and protocols on the questions of FILE, whose answers are known.",
            is_slow=True,
        ),
    ),
    help="help",
)
