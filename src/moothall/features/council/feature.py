"""The row of debates, advisory panels and votes for consensus."""

from typing import Final

from moothall.ports.feature import Feature

FEATURE: Final = Feature(
    name="council",
    package="moothall",
    protocols={
        "debate": "protocols.council.plugin:DEBATE",
        "advisory": "protocols.council.plugin:ADVISORY",
        "consensus": "protocols.council.plugin:CONSENSUS",
    },
    wire_names={"structured_debate": "debate", "advisory_panel": "advisory"},
    fact_prefixes={"council": "debate"},
    operations=("surfaces.api.deliberation:METHODS",),
)
