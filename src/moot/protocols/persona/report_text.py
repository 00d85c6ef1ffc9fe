"""The words of minutes and pages in both languages."""

from dataclasses import dataclass

from moot.domain.facts import Language
from moot.reports.shared_text import SHARED_REPORT_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaReportText:
    minutes: str
    question: str
    decision: str
    no_decision: str
    still_thinking: str
    cancelled: str
    read_back: str
    rests_on: str
    names_nothing: str
    confidence: str
    support: str
    turnout: str
    ended_by: str
    author: str
    reasons: str
    dissent: str
    no_dissent: str
    no_opposition: str
    reported: str
    open_questions: str
    positions: str
    position_heads: tuple[str, ...]
    lost: str
    lost_line: str
    voiceless: str
    could_differ: str
    could_not_differ: str
    timeline: str
    answers: str
    silence: str
    silence_heads: tuple[str, ...]
    speaks: str
    silent: str
    floor: str
    cost: str
    spent: str
    footer: str
    stops: str
    cost_heads: tuple[str, ...]
    total: str
    consensus: str
    agreed: str
    contested: str
    by: str
    seats: str
    seat_heads: tuple[str, ...]
    verdicts: dict[str, str]
    endings: dict[str, str]
    losses: dict[str, str]
    floors: dict[str, str]


EN = PersonaReportText(
    minutes="Minutes",
    question="Question",
    decision="Decision",
    no_decision="No decision: every seat that could have written it failed.",
    still_thinking="The meeting goes on; nothing is decided yet.",
    cancelled="Cancelled before a decision.",
    read_back="Read back from a file; it was concluded elsewhere.",
    rests_on="rests on",
    names_nothing="names no entry",
    confidence="Confidence of its author",
    support="Weighed support",
    turnout="{support} of those who took a side, who hold {turnout} of the weight",
    ended_by="Ended by",
    author=SHARED_REPORT_TEXT["en"].author,
    reasons="Reasons",
    dissent="Dissent",
    no_dissent="Nobody dissented.",
    no_opposition="Nobody opposed it, but not all took a side. Abstained: {seats}.",
    reported="reported",
    open_questions="Open questions",
    positions="Positions, before and after",
    position_heads=("Seat", "Before, blind", "Sure", "Last word", "Verdict", "Sure", "Weight", "Moved by"),
    lost="Lost seats",
    lost_line="{seat}: failed {times} ×, last by {last}; holds {share} of the weight",
    voiceless="its last word is missing",
    could_differ="With the missing last words the outcome could have been another.",
    could_not_differ="The missing last words could not have changed the outcome.",
    timeline="Timeline",
    answers="answers",
    silence="Who was silent, and why",
    silence_heads=("Turn", "Seat", "Reaction", "", "Reason"),
    speaks="wants to speak",
    silent="silent",
    floor="floor",
    cost=SHARED_REPORT_TEXT["en"].cost,
    spent=SHARED_REPORT_TEXT["en"].spent,
    footer="turn {turn}  ·  {tokens} tokens",
    stops="Ctrl-C stops",
    cost_heads=SHARED_REPORT_TEXT["en"].cost_heads,
    total=SHARED_REPORT_TEXT["en"].total,
    consensus="Consensus so far",
    agreed="Agreed",
    contested="Contested",
    by="by",
    seats="Seats",
    seat_heads=("Seat", "Stance", "Platform", "Weight"),
    verdicts={"support": "support", "conditional": "conditional", "oppose": "oppose", "abstain": "abstain"},
    endings={
        **SHARED_REPORT_TEXT["en"].budgets,
        "quiet": "every reaction was below the threshold",
        "nobody_speaks": "nobody wanted to speak in two turns",
        "sufficient": "the decider found that enough was said",
        "seats_lost": "no seat could take the floor in two turns",
    },
    losses=SHARED_REPORT_TEXT["en"].losses,
    floors={
        "highest": "highest reaction",
        "longest_silent": "tie: silent for longest",
        "first_by_id": "tie: first by id",
        "only_one": "the only one to bid",
        "nobody_else": "spoke last, but nobody else bid",
        "others_first": "highest of those who did not speak last",
    },
)

ZH = PersonaReportText(
    minutes="会议纪要",
    question="议题",
    decision="决定",
    no_decision="没有决定：所有可以执笔的席位都失败了。",
    still_thinking="会议仍在进行，尚无决定。",
    cancelled="在作出决定之前被取消。",
    read_back="由文件读回，结论在别处作出。",
    rests_on="依据",
    names_nothing="未注明依据",
    confidence="执笔者的把握",
    support="加权支持度",
    turnout="表态者中占 {support}，表态者共占权重 {turnout}",
    ended_by="结束原因",
    author=SHARED_REPORT_TEXT["zh"].author,
    reasons="理由",
    dissent="异议",
    no_dissent="无人持异议。",
    no_opposition="无人反对，但并非人人表态。弃权：{seats}。",
    reported="转述",
    open_questions="悬而未决",
    positions="立场的前后变化",
    position_heads=("席位", "事前（盲答）", "把握", "最后意见", "表态", "把握", "权重", "因何改变"),
    lost="失联席位",
    lost_line="{seat}：失败 {times} 次，最后一次因{last}；占权重 {share}",
    voiceless="缺少其最后意见",
    could_differ="若有缺失的意见，结果可能不同。",
    could_not_differ="缺失的意见不足以改变结果。",
    timeline="时间线",
    answers="回应",
    silence="谁在沉默，为什么",
    silence_heads=("轮次", "席位", "触动", "", "理由"),
    speaks="想发言",
    silent="沉默",
    floor="发言权",
    cost=SHARED_REPORT_TEXT["zh"].cost,
    spent=SHARED_REPORT_TEXT["zh"].spent,
    footer="第 {turn} 轮  ·  {tokens} 词元",
    stops="Ctrl-C 停止",
    cost_heads=SHARED_REPORT_TEXT["zh"].cost_heads,
    total=SHARED_REPORT_TEXT["zh"].total,
    consensus="目前的共识",
    agreed="已同意",
    contested="有争议",
    by="由",
    seats="席位",
    seat_heads=("席位", "立场", "平台", "权重"),
    verdicts={"support": "支持", "conditional": "有条件支持", "oppose": "反对", "abstain": "弃权"},
    endings={
        **SHARED_REPORT_TEXT["zh"].budgets,
        "quiet": "所有席位的触动都低于阈值",
        "nobody_speaks": "连续两轮无人要发言",
        "sufficient": "决策者判定信息已充足",
        "seats_lost": "连续两轮没有席位能够发言",
    },
    losses=SHARED_REPORT_TEXT["zh"].losses,
    floors={
        "highest": "触动最高",
        "longest_silent": "并列：沉默最久",
        "first_by_id": "并列：按席位名",
        "only_one": "唯一想发言者",
        "nobody_else": "刚发过言，但无他人想发言",
        "others_first": "除上一位发言者外触动最高",
    },
)

REPORT_TEXT: dict[Language, PersonaReportText] = {"en": EN, "zh": ZH}
