"""The words of minutes, pages and terminals in both languages."""

from moothall.protocols.council.prompt_text import PROMPT_TEXT
from moothall.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moothall.reports.two_languages import both, in_each_language


class CouncilReportText(SharedReportText):
    """Every text, in one language."""

    minutes = both("Minutes", "纪要")
    question = both("Question", "问题")
    motion = both("Motion", "动议")
    no_decision = both("No decision: the group did not carry a motion.", "没有决定：没有动议获得通过。")
    still_thinking = both("The deliberation goes on; nothing is decided yet.", "审议仍在进行，尚无决定。")
    with_open = both("Decided with {count} open challenge(s): {line}.", "作出决定时仍有 {count} 项质疑未获回应：{line}。")
    overturned = both(
        "This is not what most had written before reading anyone, and nobody who changed names a line that moved them.",
        "这与多数席位在阅读他人之前所写的不同，且改变看法者均未指出是哪一条打动了自己。",
    )
    confidence = both("Group confidence", "群体置信度")
    support = both("Support", "支持")
    votes = both(
        "{support} of the weight that took a side ({turnout} of all weight); {heads} votes worth {effective} independent ones",
        "占表态权重的 {support}（表态者占全部权重的 {turnout}）；{heads} 票相当于 {effective} 张独立票",
    )
    ended_by = both("Ended by", "结束于")
    consensus = both("Consensus", "共识")
    no_dissent = both("Nobody opposed, set a condition, or left a challenge open.", "无人反对、附加条件，也没有未获回应的质疑。")
    challenges = both("Challenges", "质疑")
    challenge_heads = both(("#", "Raised by", "Challenge", "What became of it"), ("#", "提出者", "质疑", "结果"))
    positions = both("Who stood where", "各席位的立场")
    position_heads = both(
        ("Seat", "Before reading anyone", "Sure", "Vote", "Sure", "Reason or condition", "Weight", "Moved by"),
        ("席位", "阅读他人之前", "把握", "投票", "把握", "理由或条件", "权重", "打动它的"),
    )
    changed = both("Changed", "改变看法")
    lost = both("Lost and missing", "失联与缺席")
    voiceless = both("its vote is missing", "缺少它的投票")
    not_voted = both("Did not vote: {seats}.", "未投票：{seats}。")
    could_differ = both("With the missing votes the outcome could have been another.", "若有缺失的投票，结果可能不同。")
    could_not_differ = both("The missing votes could not have changed the outcome.", "缺失的投票不会改变结果。")
    phases = both(
        {
            "propose": "Proposing",
            "argue": "Arguing",
            "answer": "Answering challenges",
            "synthesize": "Synthesizing",
            "decide": "Deciding",
            "vote": "Voting",
        },
        {"propose": "提议", "argue": "辩论", "answer": "回应质疑", "synthesize": "综合", "decide": "决定", "vote": "投票"},
    )
    round = both("round {number}", "第 {number} 轮")
    passes = both("passes", "跳过")
    has_written = both("has written; sealed until all have", "已写好；待所有席位写完后公开")
    went_on = both("went on without", "直接进入下一阶段")
    types = both(PROMPT_TEXT["en"].types, PROMPT_TEXT["zh"].types)
    verdicts = both(
        {"support": "support", "conditional_support": "conditional", "oppose": "oppose", "abstain": "abstain"},
        {"support": "支持", "conditional_support": "有条件支持", "oppose": "反对", "abstain": "弃权"},
    )
    kinds = both(
        {"oppose": "opposes", "conditional": "on condition", "challenge": "challenged", "reported": "reported"},
        {"oppose": "反对", "conditional": "附条件", "challenge": "质疑", "reported": "转述"},
    )
    consensus_types = both(
        {
            "unanimous": "unanimous",
            "convergent": "convergent: nobody opposes, with conditions, abstentions or missing votes",
            "majority": "majority, against opposition",
            "owner_decision": "the owner's decision",
            "contested": "contested: carried narrowly, against opposition",
            "no_consensus": "no consensus",
        },
        {
            "unanimous": "一致同意",
            "convergent": "趋同：无人反对，但有条件、弃权或缺票",
            "majority": "多数通过，有人反对",
            "owner_decision": "负责人决定",
            "contested": "有争议：以微弱优势通过",
            "no_consensus": "未达成共识",
        },
    )
    challenge_states = both(
        {"open": "open", "answered": "answered in {line}", "accepted": "accepted in {line}"},
        {"open": "未获回应", "answered": "在 {line} 中得到回应", "accepted": "在 {line} 中被接受"},
    )
    takings = both(
        {"adopted": "adopted", "partly": "adopted in part", "declined": "declined"},
        {"adopted": "采纳", "partly": "部分采纳", "declined": "未采纳"},
    )
    endings = both(
        {
            **SHARED_REPORT_TEXT["en"].budgets,
            "voted": "the vote",
            "agreed_blind": "positions that agreed before anyone read anyone",
            "settled": "a panel that settled it before all were asked",
            "decided": "the owner's decision",
            "nothing_proposed": "nobody having proposed anything",
            "owner_lost": "the owner having been lost",
        },
        {
            **SHARED_REPORT_TEXT["zh"].budgets,
            "voted": "表决",
            "agreed_blind": "各席位在阅读他人之前立场已一致",
            "settled": "小组未问完所有席位即已得出结论",
            "decided": "负责人的决定",
            "nothing_proposed": "无人提出提议",
            "owner_lost": "负责人失联",
        },
    )
    closed_with_open = both("Closed with {count} open challenge(s): {line}.", "结束时仍有 {count} 项质疑未获回应：{line}。")
    not_carried = both("This motion did not carry", "此动议未获通过")
    motion_by = both("by {seat}", "执笔 {seat}")
    protocol = both("Protocol", "协议")
    protocols = both(
        {"debate": "debate", "advisory": "advisory", "consensus": "consensus"},
        {"debate": "辩论", "advisory": "顾问建议", "consensus": "共识"},
    )
    category = both("Category", "类别")
    stakes = both("Stakes", "利害")
    stakes_words = both(
        {"low": "low", "medium": "medium", "high": "high", "critical": "critical"},
        {"low": "低", "medium": "中", "high": "高", "critical": "极高"},
    )
    options = both("Options", "选项")
    now = both("Now", "当前")
    awaited = both("Yet to have a turn", "尚未轮到")
    vote_table = both("Votes", "投票情况")
    vote_heads = both(("Vote", "Seats", "Weight"), ("投票", "席位", "权重"))
    no_vote = both("no vote", "未投票")
    votes_read = both(
        {
            "agreed_blind": "Nobody was asked to vote: what was written before reading anyone agrees, and stands for the votes.",
            "settled": "Nobody was asked to vote: what was written before reading anyone settled it, and stands for the votes.",
            "owner": "Nobody votes here: the owner decides. What stands for a vote is read off each seat's last advice.",
        },
        {
            "agreed_blind": "没有进行投票：各席位在阅读他人之前所写的一致，以此为票。",
            "settled": "没有进行投票：各席位在阅读他人之前所写的已足以得出结论，以此为票。",
            "owner": "此处不投票：由负责人决定。各席位的票取自其最后的建议。",
        },
    )
    candidates = both("Candidates", "候选决议")
    candidate_heads = both(
        ("#", "By", "Resolution", "Support", "Unconditional", "Against", "Confidence"),
        ("#", "执笔", "决议", "支持", "无条件支持", "反对", "置信度"),
    )
    unasked = both("Not asked, because it was settled: {seats}.", "已有结论，未询问：{seats}。")
    obligations = both("Obligations", "义务")
    obligation_heads = both(("#", "Set by", "What must hold", "By when", "State"), ("#", "提出者", "须满足", "期限", "状态"))
    obligation_states = both(
        {"open": "open", "met": "met", "waived": "waived", "failed": "failed"},
        {"open": "未了结", "met": "已满足", "waived": "已豁免", "failed": "未满足"},
    )
    gives_no_reason = both("gives no reason", "未说明理由")
    declined = both("declined in {line}", "在 {line} 中未被采纳")
    taken = both("How advice was taken", "建议如何被对待")
    taken_heads = both(
        ("#", "Advice by", "Advice", "How it was taken", "Why", "Said in"), ("#", "建议者", "建议", "如何对待", "理由", "出处")
    )
    moved = both("{seat}: {before} → {after}", "{seat}：{before} → {after}")
    names_nothing = both("names no line", "未指出任何一条")
    passed = both("Who passed", "谁跳过")
    sealed = both("Sealed until all have written.", "在所有席位写完之前密封。")
    sure = both("{share} sure", "把握 {share}")
    about = both("about {line}", "关于 {line}")
    answers = both("answers {line}", "回应 {line}")
    accepts = both("accepts {line}", "接受 {line}")
    moved_by = both("moved by {line}", "被 {line} 打动")
    choice = both("Choice", "选择")
    condition = both("Condition", "条件")
    evidence = both("Evidence", "证据")
    replaced = both("does not count: replaced by {line}", "不计：已被 {line} 取代")
    vote_counts = both("counts, instead of {line}", "计入，取代 {line}")
    cast_early = both("does not count: cast before there was the motion {line}", "不计：投于动议 {line} 提出之前")
    cast_ahead = both("cast before the vote was begun", "投于表决开始之前")
    voted_anew = both("does not count: voted on anew in a later round", "不计：后一轮已重新表决")
    ahead = both("written ahead of its phase", "先于其阶段写下")
    nothing_said = both("Nothing was said.", "没有发言。")
    seat_heads = both(("Seat", "Stance", "Platform", "Weight", "Trust"), ("席位", "立场", "平台", "权重", "信任"))


REPORT_TEXT = in_each_language(CouncilReportText)
