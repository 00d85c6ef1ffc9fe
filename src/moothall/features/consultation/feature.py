"""The row of consultations."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

_NOT_CONSULTING: Final = (
    "a consultation is one question to one seat; the seat that is asked consults nobody"
)

FEATURE: Final = Feature(
    name="consultation",
    package="moothall",
    protocols={"consultation": "protocols.consultation.plugin:CONSULTATION"},
    openers=(
        OpenerRow(
            name="consult",
            protocol="consultation",
            refuses={
                "protocol": "a consultation is held by the protocol consultation; to choose a protocol, use run",
                "depth": "only a debate starts with one mind; use `run --protocol debate`",
                "consult": _NOT_CONSULTING,
                "consult_limit": _NOT_CONSULTING,
                "consult_total": _NOT_CONSULTING,
                "gate": _NOT_CONSULTING,
            },
        ),
    ),
    commands=(
        CommandRow(
            name="consult",
            place="surfaces.cli.run:consult",
            group="Ask",
            summary="Ask one participant on behalf of another, with a record.",
            is_slow=True,
        ),
    ),
    operations=("surfaces.api.consultation:METHODS",),
)
