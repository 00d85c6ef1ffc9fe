"""D-6: each error has the code that docs/server.md names, whoever raises it."""

import re
from pathlib import Path

import pytest

from moothall import errors
from moothall.surfaces.api.errors import CODES, INTERNAL, INVALID_PARAMS, find_error_code

NUMBERS = {
    errors.NotAllowed: -32001,
    errors.UnknownSession: -32002,
    errors.UnknownDecision: -32002,
    errors.UnknownThread: -32002,
    errors.UnknownToken: -32002,
    errors.UnknownConference: -32002,
    errors.FolderDamaged: -32003,
    errors.OutOfTurn: -32003,
    errors.UnknownAsk: -32003,
    errors.UnknownSeat: -32004,
    errors.SessionClosed: -32005,
    errors.KeyReused: -32006,
    errors.SessionExists: -32006,
    errors.SessionBusy: -32007,
    errors.WorldError: -32008,
}


def test_codes_do_not_change() -> None:
    assert {kind: code.number for kind, code in CODES.items()} == NUMBERS


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.LedgerFull("full"), -32008),
        (errors.BadSetting("no"), INVALID_PARAMS),
        (errors.MootError("?"), INTERNAL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_without_a_code_has_that_of_its_nearest_ancestor(
    error: errors.MootError, code: int
) -> None:
    assert find_error_code(error) == code


def test_the_docs_name_every_code() -> None:
    text = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    assert set(NUMBERS.values()) <= {int(number) for number in re.findall(r"-320\d\d", text)}
