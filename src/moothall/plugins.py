"""What an extension of Moot needs: the stable names for writing a feature, which Moot's own features use, too.

A distribution brings a `Feature` by the entry point `moothall.features`: a row that names its protocols (`ProtocolPlugin`), its
kinds of participants (`ParticipantKind`), its measures (`Similarity`), its commands, calls, services and panels. Everything else
in this package may move between versions; what stands here does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moothall.app.environment import resolve_home as resolve_home
    from moothall.app.held_sessions import SessionPlan as SessionPlan
    from moothall.app.moot import Moot as Moot
    from moothall.app.reading_threads import run_on_own_thread as run_on_own_thread
    from moothall.app.requirement import Worth as Worth
    from moothall.app.session_options import Options as Options
    from moothall.app.session_options import refuse_options as refuse_options
    from moothall.codec.adapters import get_adapter as get_adapter
    from moothall.domain.answer_table import AnswerField as AnswerField
    from moothall.domain.answer_table import AnswerTable as AnswerTable
    from moothall.domain.answer_table import StateAsk as StateAsk
    from moothall.domain.answer_table import ask_for_replies as ask_for_replies
    from moothall.domain.answer_table import ask_person as ask_person
    from moothall.domain.answer_table import define_answer as define_answer
    from moothall.domain.answer_table import fill_brief as fill_brief
    from moothall.domain.answer_table import index_by_kind as index_by_kind
    from moothall.domain.answer_table import quote_open_inputs as quote_open_inputs
    from moothall.domain.answer_table import read_two_sides as read_two_sides
    from moothall.domain.budget import FREE as FREE
    from moothall.domain.budget import LONG_ANSWER as LONG_ANSWER
    from moothall.domain.budget import SHORT_ANSWER as SHORT_ANSWER
    from moothall.domain.budget import Budget as Budget
    from moothall.domain.budget import ExpectedCalls as ExpectedCalls
    from moothall.domain.budget import Usage as Usage
    from moothall.domain.claims import cut_text as cut_text
    from moothall.domain.context import ContextWindow as ContextWindow
    from moothall.domain.context import Perception as Perception
    from moothall.domain.context import Utterance as Utterance
    from moothall.domain.context import clip_utterance as clip_utterance
    from moothall.domain.context import extract_first_sentence as extract_first_sentence
    from moothall.domain.dictionaries import group_pairs as group_pairs
    from moothall.domain.effects import AnswerForm as AnswerForm
    from moothall.domain.effects import AnswerRules as AnswerRules
    from moothall.domain.effects import Ask as Ask
    from moothall.domain.effects import Brief as Brief
    from moothall.domain.effects import Effect as Effect
    from moothall.domain.effects import Normalized as Normalized
    from moothall.domain.effects import Record as Record
    from moothall.domain.effects import Rulebook as Rulebook
    from moothall.domain.effects import Schema as Schema
    from moothall.domain.effects import fold as fold
    from moothall.domain.facts import AsksSent as AsksSent
    from moothall.domain.facts import BudgetExhausted as BudgetExhausted
    from moothall.domain.facts import CloseCalled as CloseCalled
    from moothall.domain.facts import Closed as Closed
    from moothall.domain.facts import Entry as Entry
    from moothall.domain.facts import Fact as Fact
    from moothall.domain.facts import FamilyStated as FamilyStated
    from moothall.domain.facts import InputGiven as InputGiven
    from moothall.domain.facts import Language as Language
    from moothall.domain.facts import Loss as Loss
    from moothall.domain.facts import Opened as Opened
    from moothall.domain.facts import Reply as Reply
    from moothall.domain.facts import SeatLost as SeatLost
    from moothall.domain.facts import SeatsSwapped as SeatsSwapped
    from moothall.domain.facts import SessionCancelled as SessionCancelled
    from moothall.domain.facts import SessionForked as SessionForked
    from moothall.domain.facts import SessionParked as SessionParked
    from moothall.domain.facts import SessionResumed as SessionResumed
    from moothall.domain.facts import add_kind as add_kind
    from moothall.domain.frame import names_nothing as names_nothing
    from moothall.domain.frame import settle_own_choice as settle_own_choice
    from moothall.domain.ids import USER as USER
    from moothall.domain.ids import AskId as AskId
    from moothall.domain.ids import SeatId as SeatId
    from moothall.domain.ids import SessionId as SessionId
    from moothall.domain.ids import ask_id as ask_id
    from moothall.domain.ids import find_asked_seat as find_asked_seat
    from moothall.domain.ids import parse_seat_id as parse_seat_id
    from moothall.domain.ids import parse_session_id as parse_session_id
    from moothall.domain.person import CONDITION as CONDITION
    from moothall.domain.person import WHY as WHY
    from moothall.domain.person import Answers as Answers
    from moothall.domain.person import PersonAsk as PersonAsk
    from moothall.domain.person import PersonChoice as PersonChoice
    from moothall.domain.person import PersonCommand as PersonCommand
    from moothall.domain.person import PersonStep as PersonStep
    from moothall.domain.person import build_key as build_key
    from moothall.domain.prompt_parts import describe_choice as describe_choice
    from moothall.domain.prompt_parts import introduce_seat as introduce_seat
    from moothall.domain.replace import copy_fields as copy_fields
    from moothall.domain.replace import fast_replace as fast_replace
    from moothall.domain.roster import MAX_SEATS as MAX_SEATS
    from moothall.domain.roster import Seat as Seat
    from moothall.domain.roster import validate_seats as validate_seats
    from moothall.domain.safe_text import compile_late as compile_late
    from moothall.domain.safe_text import dump_json as dump_json
    from moothall.domain.safe_text import one_line as one_line
    from moothall.domain.safe_text import quote_lines as quote_lines
    from moothall.domain.safe_text import quote_user as quote_user
    from moothall.domain.safe_text import shorten_text as shorten_text
    from moothall.domain.safe_text import strip_control as strip_control
    from moothall.domain.seeded_random import random_unit as random_unit
    from moothall.domain.session_state import JUDGE_ASK as JUDGE_ASK
    from moothall.domain.session_state import LostSeat as LostSeat
    from moothall.domain.session_state import ProtocolState as ProtocolState
    from moothall.domain.session_state import RevealedLine as RevealedLine
    from moothall.domain.session_state import evolve_shared as evolve_shared
    from moothall.domain.session_state import list_lost_seats as list_lost_seats
    from moothall.domain.topic import MAX_LABEL_LENGTH as MAX_LABEL_LENGTH
    from moothall.domain.topic import ContextFile as ContextFile
    from moothall.domain.topic import Frame as Frame
    from moothall.domain.topic import Headline as Headline
    from moothall.domain.topic import InputReplies as InputReplies
    from moothall.domain.topic import RepositoryTree as RepositoryTree
    from moothall.domain.topic import UserReply as UserReply
    from moothall.domain.topic import drop_replies as drop_replies
    from moothall.domain.topic import index_replies as index_replies
    from moothall.domain.topic import join_replies as join_replies
    from moothall.domain.topic import list_input_numbers as list_input_numbers
    from moothall.domain.topic import normalize_label as normalize_label
    from moothall.domain.topic import read_replies as read_replies
    from moothall.domain.vocabulary import PATTERNS as PATTERNS
    from moothall.domain.vocabulary import is_pass_text as is_pass_text
    from moothall.errors import BadAnswer as BadAnswer
    from moothall.errors import BadRoster as BadRoster
    from moothall.errors import BadSetting as BadSetting
    from moothall.errors import CallerError as CallerError
    from moothall.errors import MootError as MootError
    from moothall.errors import WorldError as WorldError
    from moothall.locale.catalogues import PARTICIPANT_PROMPT as PARTICIPANT_PROMPT
    from moothall.locale.catalogues import SHARED_REPORT as SHARED_REPORT
    from moothall.locale.catalogues import SharedReportText as SharedReportText
    from moothall.locale.texts import Catalogue as Catalogue
    from moothall.locale.texts import Texts as Texts
    from moothall.participants.git_tree import find_repository as find_repository
    from moothall.participants.git_tree import resolve_commit as resolve_commit
    from moothall.participants.kinds import ParticipantKind as ParticipantKind
    from moothall.participants.kinds import SeatRequest as SeatRequest
    from moothall.ports.feature import CommandRow as CommandRow
    from moothall.ports.feature import Feature as Feature
    from moothall.ports.feature import OpenerRow as OpenerRow
    from moothall.ports.feature import SessionFolder as SessionFolder
    from moothall.ports.participant import Answer as Answer
    from moothall.ports.participant import NoAnswer as NoAnswer
    from moothall.ports.participant import OnText as OnText
    from moothall.ports.participant import Participant as Participant
    from moothall.ports.participant import Similarity as Similarity
    from moothall.ports.plugin import AnyPlugin as AnyPlugin
    from moothall.ports.plugin import BlindChoice as BlindChoice
    from moothall.ports.plugin import JoinGuide as JoinGuide
    from moothall.ports.plugin import Plan as Plan
    from moothall.ports.plugin import ProtocolPlugin as ProtocolPlugin
    from moothall.reading.choices import build_choices as build_choices
    from moothall.reading.schemas import allow_list as allow_list
    from moothall.reading.schemas import allow_text as allow_text
    from moothall.reading.schemas import allow_values as allow_values
    from moothall.reading.schemas import build_table_schema as build_table_schema
    from moothall.reading.schemas import narrow_fields as narrow_fields
    from moothall.reading.schemas import narrow_schema as narrow_schema
    from moothall.reading.stated import find_choice as find_choice
    from moothall.reports import blocks as blocks
    from moothall.reports import person_steps as person_steps
    from moothall.reports import sections as sections
    from moothall.reports.ballot import Ballot as Ballot
    from moothall.reports.ballot import BallotLine as BallotLine
    from moothall.reports.ballot import CandidateSupport as CandidateSupport
    from moothall.reports.blocks import Bar as Bar
    from moothall.reports.blocks import Bars as Bars
    from moothall.reports.blocks import Block as Block
    from moothall.reports.blocks import Bullets as Bullets
    from moothall.reports.blocks import Card as Card
    from moothall.reports.blocks import ColumnChart as ColumnChart
    from moothall.reports.blocks import Details as Details
    from moothall.reports.blocks import Fields as Fields
    from moothall.reports.blocks import Heading as Heading
    from moothall.reports.blocks import Line as Line
    from moothall.reports.blocks import LineChart as LineChart
    from moothall.reports.blocks import Mark as Mark
    from moothall.reports.blocks import Muted as Muted
    from moothall.reports.blocks import Preformatted as Preformatted
    from moothall.reports.blocks import Quote as Quote
    from moothall.reports.blocks import References as References
    from moothall.reports.blocks import Report as Report
    from moothall.reports.blocks import Series as Series
    from moothall.reports.blocks import Shares as Shares
    from moothall.reports.blocks import Strong as Strong
    from moothall.reports.blocks import Table as Table
    from moothall.reports.blocks import build_section as build_section
    from moothall.reports.blocks import build_table as build_table
    from moothall.reports.decision import Decision as Decision
    from moothall.reports.decision import Dissent as Dissent
    from moothall.reports.decision import SeatPosition as SeatPosition
    from moothall.reports.decision import SourcedClaim as SourcedClaim
    from moothall.reports.decision import number_obligations as number_obligations
    from moothall.reports.given import reads_tree as reads_tree
    from moothall.reports.how import ByAuthor as ByAuthor
    from moothall.reports.how import ByMinutes as ByMinutes
    from moothall.reports.how import ByReview as ByReview
    from moothall.reports.how import BySteps as BySteps
    from moothall.reports.how import ByVotes as ByVotes
    from moothall.reports.how import How as How
    from moothall.reports.how import Standing as Standing
    from moothall.reports.how import Undecided as Undecided
    from moothall.reports.person_steps import WORDS as WORDS
    from moothall.reports.person_steps import ask_words as ask_words
    from moothall.reports.plain_text import render_markdown as render_markdown
    from moothall.reports.sections import build_default_report as build_default_report
    from moothall.reports.sections import build_report as build_report
    from moothall.reports.sections import start_decision as start_decision
    from moothall.reports.timeline import SessionPhase as SessionPhase
    from moothall.reports.timeline import SessionTimeline as SessionTimeline
    from moothall.reports.timeline import SpokenTimeline as SpokenTimeline
    from moothall.reports.timeline import TimelineBase as TimelineBase
    from moothall.reports.timeline import TimelineLine as TimelineLine
    from moothall.reports.timeline import build_line as build_line
    from moothall.reports.timeline import format_time as format_time
    from moothall.reports.timeline import mark_phases as mark_phases
    from moothall.reports.wording import SpokenLine as SpokenLine
    from moothall.reports.wording import describe_shared_event as describe_shared_event
    from moothall.reports.wording import format_percent as format_percent
    from moothall.scoring.independence import build_seat_correlations as build_seat_correlations
    from moothall.scoring.independence import count_minds as count_minds
    from moothall.scoring.posterior import weigh_blind_answers as weigh_blind_answers
    from moothall.surfaces.api.fields import IdempotencyKey as IdempotencyKey
    from moothall.surfaces.api.method import ApiModel as ApiModel
    from moothall.surfaces.api.method import Call as Call
    from moothall.surfaces.api.method import Operations as Operations
    from moothall.surfaces.cli import output as output
    from moothall.surfaces.cli.arguments import LanguageChoice as LanguageChoice
    from moothall.surfaces.cli.live_views import MovingView as MovingView
    from moothall.surfaces.cli.live_views import SeatsView as SeatsView
    from moothall.surfaces.cli.options import HoldOptions as HoldOptions
    from moothall.surfaces.cli.options import WaitCommand as WaitCommand
    from moothall.surfaces.cli.options import session_options as session_options
    from moothall.surfaces.cli.output import Note as Note
    from moothall.surfaces.cli.terminal_session import TerminalSession as TerminalSession
    from moothall.surfaces.cli.terminal_session import open_and_hold as open_and_hold
else:
    # Loaded at the first use: a row, a protocol or a command of a feature loads what it names, and no more.
    _NAMES = """
app.environment: resolve_home
app.held_sessions: SessionPlan
app.moot: Moot
app.reading_threads: run_on_own_thread
app.requirement: Worth
app.session_options: Options refuse_options
codec.adapters: get_adapter
domain.answer_table: AnswerField AnswerTable StateAsk ask_for_replies ask_person define_answer
domain.answer_table: fill_brief index_by_kind quote_open_inputs read_two_sides
domain.budget: Budget ExpectedCalls FREE LONG_ANSWER SHORT_ANSWER Usage
domain.claims: cut_text
domain.context: ContextWindow Perception Utterance clip_utterance extract_first_sentence
domain.dictionaries: group_pairs
domain.effects: AnswerForm AnswerRules Ask Brief Effect Normalized Record Rulebook Schema fold
domain.facts: AsksSent BudgetExhausted CloseCalled Closed Entry Fact FamilyStated InputGiven
domain.facts: Language Loss Opened Reply SeatLost SeatsSwapped SessionCancelled SessionForked
domain.facts: SessionParked SessionResumed add_kind
domain.frame: names_nothing settle_own_choice
domain.ids: AskId SeatId SessionId USER ask_id find_asked_seat parse_seat_id parse_session_id
domain.person: Answers CONDITION PersonAsk PersonChoice PersonCommand PersonStep WHY build_key
domain.prompt_parts: describe_choice introduce_seat
domain.replace: copy_fields fast_replace
domain.roster: MAX_SEATS Seat validate_seats
domain.safe_text: compile_late dump_json one_line quote_lines quote_user shorten_text strip_control
domain.seeded_random: random_unit
domain.session_state: JUDGE_ASK LostSeat ProtocolState RevealedLine evolve_shared list_lost_seats
domain.topic: ContextFile Frame Headline InputReplies MAX_LABEL_LENGTH UserReply drop_replies
domain.topic: index_replies join_replies list_input_numbers normalize_label read_replies RepositoryTree
domain.vocabulary: PATTERNS is_pass_text
errors: BadAnswer BadRoster BadSetting CallerError MootError WorldError
locale.catalogues: PARTICIPANT_PROMPT SHARED_REPORT SharedReportText
locale.texts: Catalogue Texts
participants.git_tree: find_repository resolve_commit
participants.kinds: ParticipantKind SeatRequest
ports.feature: CommandRow Feature OpenerRow SessionFolder
ports.participant: Answer NoAnswer OnText Participant Similarity
ports.plugin: AnyPlugin BlindChoice JoinGuide Plan ProtocolPlugin
reading.choices: build_choices
reading.schemas: allow_list allow_text allow_values build_table_schema narrow_schema narrow_fields
reading.stated: find_choice
reports.ballot: Ballot BallotLine CandidateSupport
reports.blocks: Bar Bars Block Bullets Card ColumnChart Details Fields Heading Line LineChart Mark
reports.blocks: Muted Preformatted Quote References Report Series Shares Strong Table build_section
reports.blocks: build_table
reports.decision: Decision Dissent SeatPosition SourcedClaim number_obligations
reports.given: reads_tree
reports.how: ByAuthor ByMinutes ByReview BySteps ByVotes How Standing Undecided
reports.person_steps: WORDS ask_words
reports.plain_text: render_markdown
reports.sections: build_default_report build_report start_decision
reports.timeline: SessionPhase SessionTimeline SpokenTimeline TimelineBase TimelineLine build_line
reports.timeline: format_time mark_phases
reports.wording: SpokenLine describe_shared_event format_percent
scoring.independence: build_seat_correlations count_minds
scoring.posterior: weigh_blind_answers
surfaces.api.fields: IdempotencyKey
surfaces.api.method: ApiModel Call Operations
surfaces.cli.arguments: LanguageChoice
surfaces.cli.live_views: MovingView SeatsView
surfaces.cli.options: HoldOptions WaitCommand session_options
surfaces.cli.output: Note
surfaces.cli.terminal_session: TerminalSession open_and_hold
"""
    """The names of each module, on as many lines as they take."""
    _MODULES = {
        "blocks": "reports.blocks",
        "output": "surfaces.cli.output",
        "person_steps": "reports.person_steps",
        "sections": "reports.sections",
    }
    """The modules that are handed on whole."""

    def _index_names() -> dict[str, str]:
        places = {}
        for line in _NAMES.strip().splitlines():
            module, _, names = line.partition(": ")
            for name in names.split():
                places[name] = module
        return places

    _PLACES = _index_names()

    def __getattr__(name: str) -> object:
        value: object
        if name in _MODULES:
            value = import_module(f"moothall.{_MODULES[name]}")
        elif name in _PLACES:
            value = getattr(import_module(f"moothall.{_PLACES[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Cached, so that `__getattr__` runs once per name.
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_PLACES, *_MODULES})
