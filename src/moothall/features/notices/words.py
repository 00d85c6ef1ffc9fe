"""The texts of notices; `make catalogues` writes this file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, Texts


class NoticesText(Texts):
    turn: str
    until: str
    parked: str
    decided: str
    changed: str
    change: str
    stand_ins: Mapping[str, str]
    obligation_due: str
    obligation_overdue: str
    review_due: str
    breaker_opened: str
    breaker_closed: str
    test: str


NOTICES: Final = Catalogue("notices", NoticesText, Path(__file__).parent / "locale")
