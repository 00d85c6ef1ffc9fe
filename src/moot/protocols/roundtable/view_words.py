"""The words of minutes and terminals in both languages."""

from dataclasses import dataclass

from moot.domain.facts import Language
from moot.projections.words import SHARED_WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewWords:
    conference: str
    agenda: str
    written_by: str
    no_minutes: str
    still_open: str
    cancelled: str
    ended_by: str
    disputed: str
    skipped: str
    speeches: str
    round: str
    prompt: str
    cost: str
    cost_heads: tuple[str, ...]
    total: str
    spent: str
    endings: dict[str, str]
    losses: dict[str, str]
    consensus_heads: tuple[str, ...]
    dispute_heads: tuple[str, ...]


EN = ViewWords(
    conference="Conference",
    agenda="Agenda",
    written_by="Minutes written by {seat}",
    no_minutes="Nobody could write the minutes; the speeches stand below.",
    still_open="The conference goes on.",
    cancelled="Cancelled before its end.",
    ended_by="Ended by",
    disputed="Left open",
    skipped="Skipped",
    speeches="Speeches",
    round="round {number}",
    prompt="for the next speaker",
    cost=SHARED_WORDS["en"].cost,
    cost_heads=SHARED_WORDS["en"].cost_heads,
    total=SHARED_WORDS["en"].total,
    spent=SHARED_WORDS["en"].spent,
    endings={**SHARED_WORDS["en"].budgets, "rounds": "the last round", "consensus": "everyone having declared consensus"},
    losses=SHARED_WORDS["en"].losses,
    consensus_heads=("consensus", "最终共识", "共识"),
    dispute_heads=("disagreements", "悬而未决", "分歧"),
)
ZH = ViewWords(
    conference="圆桌会议",
    agenda="议程",
    written_by="纪要由 {seat} 撰写",
    no_minutes="无人能够撰写纪要；发言见下。",
    still_open="会议仍在进行。",
    cancelled="会议在结束前被取消。",
    ended_by="结束于",
    disputed="悬而未决",
    skipped="被跳过",
    speeches="发言",
    round="第 {number} 轮",
    prompt="给下一位",
    cost=SHARED_WORDS["zh"].cost,
    cost_heads=SHARED_WORDS["zh"].cost_heads,
    total=SHARED_WORDS["zh"].total,
    spent=SHARED_WORDS["zh"].spent,
    endings={**SHARED_WORDS["zh"].budgets, "rounds": "达到轮次上限", "consensus": "全体宣告共识"},
    losses=SHARED_WORDS["zh"].losses,
    consensus_heads=EN.consensus_heads,
    dispute_heads=EN.dispute_heads,
)
VIEW_WORDS: dict[Language, ViewWords] = {"en": EN, "zh": ZH}
