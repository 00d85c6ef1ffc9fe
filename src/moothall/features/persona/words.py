"""The texts of persona meetings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, SharedReportText, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class PersonaPersonText(Texts):
    position: str
    bid: str
    listens: str
    listen: str
    enough: str
    speech: str
    wanted: str
    draft: str
    reasons: str
    dissent: str
    open_questions: str
    naming: str
    stand: str
    decision: str


class PersonaPromptText(Texts):
    earlier: str
    left_out: str
    answering: str
    own_words: str
    own_entry: str
    before: str
    won_by: str
    turns_left: str
    input: str
    position: str
    intent: str
    bids: str
    seat: str
    fields: str
    about_newest: str
    about_input: str
    about_newest_of_all: str
    about_input_of_all: str
    sufficient: str
    speech: str
    draft: str
    draft_answers: str
    stand: str
    probe: str
    decision: str
    agreed: str
    contested: str
    weight: str
    unheard: str


class PersonaReportText(SharedReportText):
    question: str
    read_back: str
    answers: str
    unaware: str
    overruled: str
    nobody_spoke: str
    waited: str
    turn_bids: str
    speaks: str
    silent: str
    floor: str
    footer: str
    consensus: str
    agreed: str
    contested: str
    by: str
    endings: Mapping[str, str]
    floors: Mapping[str, str]


PERSONA_PERSON: Final = Catalogue("persona_person", PersonaPersonText, _FOLDER)
PERSONA_PROMPT: Final = Catalogue("persona_prompt", PersonaPromptText, _FOLDER)
PERSONA_REPORT: Final = Catalogue("persona_report", PersonaReportText, _FOLDER)
