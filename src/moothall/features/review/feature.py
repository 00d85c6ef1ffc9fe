"""The row of reviews."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

FEATURE: Final = Feature(
    name="review",
    package="moothall.features.review",
    protocols={"review": "plugin:REVIEW"},
    openers=(
        OpenerRow(
            name="review",
            protocol="review",
            refuses={
                "protocol": "a change is reviewed by the protocol review; to choose a protocol, use run",
                "files": "what is reviewed is named without an option: moot review FILE…",
                "depth": "only a debate starts with one mind; use `run --protocol debate`",
            },
        ),
    ),
    commands=(
        CommandRow(
            name="review",
            place="command:review",
            group="Ask",
            summary="Review a diff, or whole files: a verdict, and findings with the lines that prove them.",
            is_slow=True,
        ),
    ),
    panels="panels",
    help="help",
)
