"""The texts of demos."""

from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class DemoCommandText(Texts):
    what: str
    keys: str
    listed: str
    which: str
    after: str
    offer: str
    first_way: str
    second_way: str
    agents: str
    choose_way: str
    go_on: str


DEMO_COMMAND: Final = Catalogue("demo_command", DemoCommandText, _FOLDER)
