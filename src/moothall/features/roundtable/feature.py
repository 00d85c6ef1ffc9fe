"""The row of roundtables."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

_ROLES: Final = "the seats of a conference are its roles, with their platforms; give it roles"
_UNMETERED: Final = (
    "a conference in files is limited by its rounds; "
    "a meeting with a budget is `run --protocol roundtable`"
)
_NO_CONSULTATION: Final = (
    "roles of a conference in files consult nobody; use `run --protocol roundtable`"
)

_REFUSES: Final = {
    "seats": _ROLES,
    "panel": _ROLES,
    "models": _ROLES,
    "protocol": "a conference is held by the protocol roundtable; to choose a protocol, use run",
    "depth": "only a debate starts with one mind; use `run --protocol debate`",
    "tokens": _UNMETERED,
    "money": _UNMETERED,
    "time": _UNMETERED,
    "options": "what every role of a conference reads is its agenda; write it there",
    "kind": "what every role of a conference reads is its agenda; write it there",
    "frame": "what every role of a conference reads is its agenda; write it there",
    "session": "a conference is found by its name; the id of its session is drawn",
    "consult": _NO_CONSULTATION,
    "consult_limit": _NO_CONSULTATION,
    "consult_total": _NO_CONSULTATION,
    "consult_patience": _NO_CONSULTATION,
    "gate": _NO_CONSULTATION,
    "project": _NO_CONSULTATION,
}
"""What a conference in files takes from its roles, its agenda and its rounds."""

FEATURE: Final = Feature(
    name="roundtable",
    package="moothall.features.roundtable",
    protocols={"roundtable": "plugin:ROUNDTABLE"},
    openers=(
        OpenerRow(
            name="roundtable",
            protocol="roundtable",
            refuses=_REFUSES,
        ),
    ),
    commands=(
        CommandRow(
            name="roundtable",
            place="command:roundtable",
            group="Ask",
            summary="Hold a conference in plain files, which any agent that reads and writes files can join.",
        ),
    ),
    operations=("operations:METHODS",),
    help="help",
)
