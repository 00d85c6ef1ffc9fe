"""The results of looking at a conference, joining it and speaking in it."""

from moothall.domain.replace import dataclass
from moothall.errors import OutOfTurn
from moothall.features.roundtable.files import TurnFile
from moothall.features.roundtable.folder_scan import Damage
from moothall.features.roundtable.sections import MinutesSection
from moothall.features.roundtable.state import Conference
from moothall.plugins import Language, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConferenceStatus:
    """The state of a conference. `writing` is the role that has started to write its files and is not done."""

    session: SessionId
    conference: Conference
    turn: TurnFile
    damage: tuple[Damage, ...] = ()
    writing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBriefing:
    """What a role should read now. `message` is the reply if it has nothing to do; `kept` are its own quarantined texts.

    `inputs` are the files of the user's inputs that `turn.json` names. `shortened` are the files of which `speeches` shows only a
    part.
    """

    is_turn: bool
    message: str
    agenda: str
    turn: TurnFile
    language: Language = "en"
    speeches: tuple[tuple[str, str], ...] = ()
    earlier: int = 0
    kept: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    shortened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedSpeech:
    """A speech (or the minutes) that is in the ledger and in the folder.

    `returned` are the sections that the minutes lack: they came back, and `file` is where their text is stored.
    """

    file: str
    turn: TurnFile
    language: Language = "en"
    is_repeated: bool = False
    returned: tuple[MinutesSection, ...] = ()


class Blocked(OutOfTurn):
    """A role spoke out of turn. `file` holds its text; `advice` says so."""

    def __init__(self, message: str, file: str, advice: str) -> None:
        super().__init__(f"{message}\n{advice.format(file=file)}")
        self.file = file
