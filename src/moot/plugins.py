"""What somebody who extends Moot needs: the stable names for writing a protocol or a participant.

A protocol is a `ProtocolPlugin` under the entry point `moot.protocols`; a kind of participant is a `ParticipantKind` under
`moot.participants`. Everything else in this package may move between versions; what stands here does not.
"""

from moot.domain.budget import FREE, Budget, Usage
from moot.domain.context import ContextWindow, Perception, Utterance
from moot.domain.effects import AnswerForm, Ask, Brief, Effect, FieldPrompt, Record
from moot.domain.facts import (
    BudgetExhausted,
    CloseCalled,
    Closed,
    Entry,
    Fact,
    InputGiven,
    Language,
    Loss,
    Opened,
    Reply,
    SeatLost,
    SessionCancelled,
    SessionForked,
    SessionResumed,
)
from moot.domain.ids import USER, AskId, SeatId, SessionId, ask_id
from moot.domain.replace import fast_replace
from moot.domain.roster import Seat, swap_seats, validate_seats
from moot.domain.rulebook import Rulebook, fold
from moot.domain.safe_text import one_line, quote_lines
from moot.domain.seeded_random import random_unit
from moot.errors import BadRoster, BadSetting, CallerError, MootError, WorldError
from moot.participants.kinds import ParticipantKind, SeatRequest
from moot.ports.participant import Answer, NoAnswer, OnText, Participant
from moot.ports.plugin import Plan, ProtocolPlugin
from moot.reports.blocks import (
    Bar,
    Bars,
    Block,
    Bullets,
    Card,
    ColumnChart,
    Details,
    Fields,
    Heading,
    Line,
    LineChart,
    Mark,
    Muted,
    Preformatted,
    Quote,
    References,
    Report,
    Series,
    Shares,
    Strong,
    Table,
    build_section,
    build_table,
)
from moot.reports.decision import Decision, Dissent, SeatLoss, SeatPosition, SourcedClaim
from moot.reports.sections import build_default_report, build_report
from moot.reports.shared_text import SharedReportText
from moot.reports.timeline import SessionTimeline, TimelineBase, TimelineLine, format_time
from moot.reports.two_languages import TwoLanguages, both, in_each_language

__all__ = [
    "FREE",
    "USER",
    "Answer",
    "AnswerForm",
    "Ask",
    "AskId",
    "BadRoster",
    "BadSetting",
    "Bar",
    "Bars",
    "Block",
    "Brief",
    "Budget",
    "BudgetExhausted",
    "Bullets",
    "CallerError",
    "Card",
    "CloseCalled",
    "Closed",
    "ColumnChart",
    "ContextWindow",
    "Decision",
    "Details",
    "Dissent",
    "Effect",
    "Entry",
    "Fact",
    "FieldPrompt",
    "Fields",
    "Heading",
    "InputGiven",
    "Language",
    "Line",
    "LineChart",
    "Loss",
    "Mark",
    "MootError",
    "Muted",
    "NoAnswer",
    "OnText",
    "Opened",
    "Participant",
    "ParticipantKind",
    "Perception",
    "Plan",
    "Preformatted",
    "ProtocolPlugin",
    "Quote",
    "Record",
    "References",
    "Reply",
    "Report",
    "Rulebook",
    "Seat",
    "SeatId",
    "SeatLoss",
    "SeatLost",
    "SeatPosition",
    "SeatRequest",
    "Series",
    "SessionCancelled",
    "SessionForked",
    "SessionId",
    "SessionResumed",
    "SessionTimeline",
    "SharedReportText",
    "Shares",
    "SourcedClaim",
    "Strong",
    "Table",
    "TimelineBase",
    "TimelineLine",
    "TwoLanguages",
    "Usage",
    "Utterance",
    "WorldError",
    "ask_id",
    "both",
    "build_default_report",
    "build_report",
    "build_section",
    "build_table",
    "fast_replace",
    "fold",
    "format_time",
    "in_each_language",
    "one_line",
    "quote_lines",
    "random_unit",
    "swap_seats",
    "validate_seats",
]
