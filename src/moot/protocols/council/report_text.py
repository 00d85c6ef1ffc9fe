"""The words of minutes, pages and terminals in both languages."""

from dataclasses import dataclass

from moot.domain.facts import Language
from moot.protocols.council.prompt_text import PROMPT_TEXT
from moot.reports.shared_text import SHARED_REPORT_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilReportText:
    minutes: str
    question: str
    decision: str
    motion: str
    no_decision: str
    still_thinking: str
    cancelled: str
    with_open: str
    overturned: str
    confidence: str
    support: str
    votes: str
    ended_by: str
    author: str
    consensus: str
    dissent: str
    no_dissent: str
    open_challenges: str
    challenges: str
    challenge_heads: tuple[str, ...]
    positions: str
    position_heads: tuple[str, ...]
    changed: str
    lost: str
    lost_line: str
    voiceless: str
    not_voted: str
    could_differ: str
    could_not_differ: str
    timeline: str
    phases: dict[str, str]
    round: str
    passes: str
    has_written: str
    went_on: str
    types: dict[str, str]
    verdicts: dict[str, str]
    kinds: dict[str, str]
    consensus_types: dict[str, str]
    challenge_states: dict[str, str]
    takings: dict[str, str]
    endings: dict[str, str]
    losses: dict[str, str]
    cost: str
    cost_heads: tuple[str, ...]
    total: str
    spent: str
    closed_with_open: str
    not_carried: str
    motion_by: str
    protocol: str
    category: str
    stakes: str
    stakes_words: dict[str, str]
    options: str
    now: str
    awaited: str
    vote_heads: tuple[str, ...]
    no_vote: str
    votes_read: dict[str, str]
    gives_no_reason: str
    declined: str
    taken: str
    taken_heads: tuple[str, ...]
    moved: str
    names_nothing: str
    passed: str
    missing: str
    loss_heads: tuple[str, ...]
    sealed: str
    sure: str
    about: str
    answers: str
    accepts: str
    moved_by: str
    choice: str
    condition: str
    evidence: str
    replaced: str
    vote_counts: str
    cast_early: str
    cast_ahead: str
    voted_anew: str
    ahead: str
    nothing_said: str
    seats: str
    seat_heads: tuple[str, ...]
    times: str


EN = CouncilReportText(
    minutes="Minutes",
    question="Question",
    decision="Decision",
    motion="Motion",
    no_decision="No decision: the group did not carry a motion.",
    still_thinking="The deliberation goes on; nothing is decided yet.",
    cancelled="Cancelled before a decision.",
    with_open="Decided with {count} open challenge(s): {lines}.",
    overturned="This is not what most had written before reading anyone, and nobody who changed names a line that moved them.",
    confidence="Group confidence",
    support="Support",
    votes="{support} of the weight that took a side ({turnout} of all weight); {heads} votes worth {effective} independent ones",
    ended_by="Ended by",
    author=SHARED_REPORT_TEXT["en"].author,
    consensus="Consensus",
    dissent="Dissent",
    no_dissent="Nobody opposed, set a condition, or left a challenge open.",
    open_challenges="Open challenges",
    challenges="Challenges",
    challenge_heads=("#", "Raised by", "Challenge", "What became of it"),
    positions="Who stood where",
    position_heads=("Seat", "Before reading anyone", "Sure", "Vote", "Sure", "Reason or condition", "Weight", "Moved by"),
    changed="Changed",
    lost="Lost",
    lost_line="{seat} failed ({times}×), last by {last}; it holds {share} of the weight",
    voiceless="its vote is missing",
    not_voted="Did not vote: {seats}.",
    could_differ="With the missing votes the outcome could have been another.",
    could_not_differ="The missing votes could not have changed the outcome.",
    timeline="Timeline",
    phases={
        "propose": "Proposing",
        "argue": "Arguing",
        "synthesize": "Synthesizing",
        "decide": "Deciding",
        "vote": "Voting",
    },
    round="round {number}",
    passes="passes",
    has_written="has written; sealed until all have",
    went_on="went on without",
    types=PROMPT_TEXT["en"].types,
    verdicts={"support": "support", "conditional_support": "conditional", "oppose": "oppose", "abstain": "abstain"},
    kinds={"oppose": "opposes", "conditional": "on condition", "challenge": "challenged", "reported": "reported"},
    consensus_types={
        "unanimous": "unanimous",
        "convergent": "convergent: nobody opposes, with conditions, abstentions or missing votes",
        "majority": "majority, against opposition",
        "owner_decision": "the owner's decision",
        "contested": "contested: carried narrowly, against opposition",
        "no_consensus": "no consensus",
    },
    challenge_states={"open": "open", "answered": "answered in #{line}", "accepted": "accepted in #{line}"},
    takings={"adopted": "adopted", "partly": "adopted in part", "declined": "declined"},
    endings={
        **SHARED_REPORT_TEXT["en"].budgets,
        "voted": "the vote",
        "agreed_blind": "positions that agreed before anyone read anyone",
        "decided": "the owner's decision",
        "nothing_proposed": "nobody having proposed anything",
        "owner_lost": "the owner having been lost",
    },
    losses=SHARED_REPORT_TEXT["en"].losses,
    cost=SHARED_REPORT_TEXT["en"].cost,
    cost_heads=SHARED_REPORT_TEXT["en"].cost_heads,
    total=SHARED_REPORT_TEXT["en"].total,
    spent=SHARED_REPORT_TEXT["en"].spent,
    closed_with_open="Closed with {count} open challenge(s): {lines}.",
    not_carried="This motion did not carry",
    motion_by="by {seat}",
    protocol="Protocol",
    category="Category",
    stakes="Stakes",
    stakes_words={"low": "low", "medium": "medium", "high": "high", "critical": "critical"},
    options="Options",
    now="Now",
    awaited="Yet to have a turn",
    vote_heads=("Vote", "Seats", "Weight"),
    no_vote="no vote",
    votes_read={
        "agreed_blind": "Nobody was asked to vote: what was written before reading anyone agrees, and stands for the votes.",
        "owner": "Nobody votes here: the owner decides. What stands for a vote is read off each seat's last advice.",
    },
    gives_no_reason="gives no reason",
    declined="declined in {line}",
    taken="How advice was taken",
    taken_heads=("#", "Advice by", "Advice", "How it was taken", "Why", "Said in"),
    moved="{seat}: {before} → {after}",
    names_nothing="names no line",
    passed="Who passed",
    missing="Lost and missing",
    loss_heads=SHARED_REPORT_TEXT["en"].loss_heads,
    sealed="Sealed until all have written.",
    sure="{share} sure",
    about="about {line}",
    answers="answers {line}",
    accepts="accepts {line}",
    moved_by="moved by {line}",
    choice="Choice",
    condition="Condition",
    evidence="Evidence",
    replaced="does not count: replaced by {line}",
    vote_counts="counts, instead of {line}",
    cast_early="does not count: cast before there was the motion {line}",
    cast_ahead="cast before the vote was begun",
    voted_anew="does not count: voted on anew in a later round",
    ahead="written ahead of its phase",
    nothing_said="Nothing was said.",
    seats="Seats",
    seat_heads=("Seat", "Stance", "Platform", "Weight", "Trust"),
    times="Opened {opened}, last entry {last}.",
)

ZH = CouncilReportText(
    minutes="纪要",
    question="问题",
    decision="决定",
    motion="动议",
    no_decision="没有决定：没有动议获得通过。",
    still_thinking="审议仍在进行，尚无决定。",
    cancelled="在作出决定之前被取消。",
    with_open="作出决定时仍有 {count} 项质疑未获回应：{lines}。",
    overturned="这与多数席位在阅读他人之前所写的不同，且改变看法者均未指出是哪一条打动了自己。",
    confidence="群体置信度",
    support="支持",
    votes="占表态权重的 {support}（表态者占全部权重的 {turnout}）；{heads} 票相当于 {effective} 张独立票",
    ended_by="结束于",
    author=SHARED_REPORT_TEXT["zh"].author,
    consensus="共识",
    dissent="异议",
    no_dissent="无人反对、附加条件，也没有未获回应的质疑。",
    open_challenges="未获回应的质疑",
    challenges="质疑",
    challenge_heads=("#", "提出者", "质疑", "结果"),
    positions="各席位的立场",
    position_heads=("席位", "阅读他人之前", "把握", "投票", "把握", "理由或条件", "权重", "打动它的"),
    changed="改变看法",
    lost="失联",
    lost_line="{seat} 失败 {times} 次，最后一次为{last}；占权重的 {share}",
    voiceless="缺少它的投票",
    not_voted="未投票：{seats}。",
    could_differ="若有缺失的投票，结果可能不同。",
    could_not_differ="缺失的投票不会改变结果。",
    timeline="时间线",
    phases={"propose": "提议", "argue": "辩论", "synthesize": "综合", "decide": "决定", "vote": "投票"},
    round="第 {number} 轮",
    passes="跳过",
    has_written="已写好；待所有席位写完后公开",
    went_on="直接进入下一阶段",
    types=PROMPT_TEXT["zh"].types,
    verdicts={"support": "支持", "conditional_support": "有条件支持", "oppose": "反对", "abstain": "弃权"},
    kinds={"oppose": "反对", "conditional": "附条件", "challenge": "质疑", "reported": "转述"},
    consensus_types={
        "unanimous": "一致同意",
        "convergent": "趋同：无人反对，但有条件、弃权或缺票",
        "majority": "多数通过，有人反对",
        "owner_decision": "负责人决定",
        "contested": "有争议：以微弱优势通过",
        "no_consensus": "未达成共识",
    },
    challenge_states={"open": "未获回应", "answered": "在 #{line} 中得到回应", "accepted": "在 #{line} 中被接受"},
    takings={"adopted": "采纳", "partly": "部分采纳", "declined": "未采纳"},
    endings={
        **SHARED_REPORT_TEXT["zh"].budgets,
        "voted": "表决",
        "agreed_blind": "各席位在阅读他人之前立场已一致",
        "decided": "负责人的决定",
        "nothing_proposed": "无人提出提议",
        "owner_lost": "负责人失联",
    },
    losses=SHARED_REPORT_TEXT["zh"].losses,
    cost=SHARED_REPORT_TEXT["zh"].cost,
    cost_heads=SHARED_REPORT_TEXT["zh"].cost_heads,
    total=SHARED_REPORT_TEXT["zh"].total,
    spent=SHARED_REPORT_TEXT["zh"].spent,
    closed_with_open="结束时仍有 {count} 项质疑未获回应：{lines}。",
    not_carried="此动议未获通过",
    motion_by="执笔 {seat}",
    protocol="协议",
    category="类别",
    stakes="利害",
    stakes_words={"low": "低", "medium": "中", "high": "高", "critical": "极高"},
    options="选项",
    now="当前",
    awaited="尚未轮到",
    vote_heads=("投票", "席位", "权重"),
    no_vote="未投票",
    votes_read={
        "agreed_blind": "没有进行投票：各席位在阅读他人之前所写的一致，以此为票。",
        "owner": "此处不投票：由负责人决定。各席位的票取自其最后的建议。",
    },
    gives_no_reason="未说明理由",
    declined="在 {line} 中未被采纳",
    taken="建议如何被对待",
    taken_heads=("#", "建议者", "建议", "如何对待", "理由", "出处"),
    moved="{seat}：{before} → {after}",
    names_nothing="未指出任何一条",
    passed="谁跳过",
    missing="失联与缺席",
    loss_heads=SHARED_REPORT_TEXT["zh"].loss_heads,
    sealed="在所有席位写完之前密封。",
    sure="把握 {share}",
    about="关于 {line}",
    answers="回应 {line}",
    accepts="接受 {line}",
    moved_by="被 {line} 打动",
    choice="选择",
    condition="条件",
    evidence="证据",
    replaced="不计：已被 {line} 取代",
    vote_counts="计入，取代 {line}",
    cast_early="不计：投于动议 {line} 提出之前",
    cast_ahead="投于表决开始之前",
    voted_anew="不计：后一轮已重新表决",
    ahead="先于其阶段写下",
    nothing_said="没有发言。",
    seats="席位",
    seat_heads=("席位", "立场", "平台", "权重", "信任"),
    times="开始于 {opened}，最后一条 {last}。",
)

REPORT_TEXT: dict[Language, CouncilReportText] = {"en": EN, "zh": ZH}
