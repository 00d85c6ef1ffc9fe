"""The words of reports and terminals in both languages."""

from moothall.protocols.swarm.reports.terms import translate_detail, translate_term
from moothall.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moothall.reports.two_languages import both, in_each_language


class SwarmReportText(SharedReportText):
    """Every text, in one language."""

    def term(self, term: str) -> str:
        """A role, a state, an event or an operation."""
        return translate_term(term, self.language)

    def phrase(self, term: str) -> str:
        """A term in a sentence."""
        return self.term(term).replace("_", " ")

    def detail(self, detail: str) -> str:
        """What exactly was wrong, where a reader of this language can read it."""
        return translate_detail(detail, self.language)

    minutes = both("Swarm report", "Swarm 协作完成报告")
    convergence_report = both("Convergence report", "Swarm 收敛报告")
    mode = both("Mode", "模式")
    modes = both(
        {"emergent": "emergent", "hybrid": "hybrid", "classic": "classic"},
        {"emergent": "涌现式协作", "hybrid": "混合模式", "classic": "兼容模式"},
    )
    agents = both("Agents", "Agent数")
    crew = both("{count} Agents", "{count} 个 Agent")
    agents_line = both("{count} (active at the end: {active})", "{count}（结束时活跃：{active}）")
    time = both("Running time", "执行时间")
    time_line = both("{minutes:.1f} minutes", "{minutes:.1f} 分钟")
    rounds = both("Rounds", "迭代轮数")
    partial = both(
        "PARTIAL REPORT: the swarm did not converge. What follows is where it stood. ", "部分报告：蜂群未收敛。以下是其所处状态。"
    )
    converged = both("Converged: all figures hold.", "已收敛：所有收敛条件满足。")
    not_converged = both("Not converged: {reason}.", "未收敛：{reason}。")
    classic = both(
        "One parallel exploration and its synthesis: the classic mode does not seek convergence.",
        "一次并行探索及其综合：兼容模式不求收敛。",
    )
    still_open = both("The swarm is at work.", "蜂群仍在工作。")
    cancelled = both("Cancelled before its end.", "在结束前被取消。")
    figures = both("Convergence figures", "收敛指标")
    stability = both("β-stability", "β稳定性")
    quorum = both("Quorum", "法定人数")
    diversity = both("Diversity", "多样性")
    consensus = both("Consensus ideas (support ≥ {threshold})", "共识观点（支持率 ≥ {threshold}）")
    consensus_heads = both(
        ("#", "Idea", "Backers", "Support", "Independent", "Pheromone"), ("#", "观点", "支持人数", "支持率", "独立持有", "信息素")
    )
    no_consensus = both("No idea reached the quorum.", "没有观点达到法定人数。")
    unique = both("Unique ideas", "创新观点（独特发现）")
    none = both("None.", "无。")
    who = both("Who held the consensus ideas before reading them", "谁在读到之前就持有共识观点")
    quoted = both("“{text}”: ", "“{text}”：")
    who_line = both("held independently by {own}; joined after reading: {joined}.", "独立持有者 {own}；读后加入者 {joined}。")
    weak = both(
        "Agreement that comes from reading each other is weak evidence: weigh the independent ones.",
        "因互相阅读而来的一致是弱证据：请以独立持有者为准。",
    )
    agent_table = both("Agents", "Agent状态")
    agent_heads = both(
        ("Agent", "Role", "Status", "End", "Rounds", "Findings", "Deposits", "Violations"),
        ("Agent", "角色", "状态", "结束方式", "轮数", "发现", "信息素沉积", "违规分"),
    )
    evolution = both("Role evolution", "角色演化路径")
    pheromones = both("Pheromone distribution", "信息素分布")
    concentrations = both("Concentrations as they stand", "当前浓度")
    by_round = both("Convergence by round", "逐轮收敛")
    conclusion = both("Conclusion", "最终结论")
    by_vote = both(
        "{kind}: {count} of {all} took a side, support {support}, group confidence {confidence}.",
        "{kind}：{all} 名中 {count} 名表态，支持率 {support}，群体置信度 {confidence}。",
    )
    leads = both("most support: {support}", "支持最多：{support}")
    most_support = both("The idea with most support is {idea}: ", "支持最多的观点是 {idea}：")
    between = both("; ", "；")
    colon = both(": ", "：")
    backed_by = both("Backed by", "支持")
    support_line = both(
        "{count} of {all} ({share}), {own} independently", "{all} 名中 {count} 名（{share}），其中独立持有 {own} 名"
    )
    held_no_more = both("nobody holds it any more", "已无人持有")
    evidence = both("Evidence", "证据")
    evidence_line = both("{count} findings by {agents} agents", "{agents} 名 Agent 的 {count} 个发现")
    checked = both("; checked: {checks}", "；核查：{checks}")
    runner_up = both("Next", "其次")
    why = both("Why {idea}", "为什么是 {idea}")
    against = both("What speaks against {idea}", "对 {idea} 的反对意见")
    no_objection = both("Nothing on the record speaks against it.", "记录中没有反对意见。")
    all_ideas = both("All ideas by support", "全部观点（按支持排序）")
    other_ideas = both("{count} further ideas", "其余 {count} 个观点")
    bare = both("(stated without details)", "（未给出细节）")
    in_round = both("round {number}", "第 {number} 轮")
    pheromone_line = both("pheromone {value:.2f}", "信息素 {value:.2f}")
    sure = both("confidence {confidence}", "把握{confidence}")
    synthesis = both("Synthesis", "综合")
    no_synthesis = both(
        "No synthesis was written: the run was stopped, or whoever was asked for it failed.",
        "未写成综合：运行被停止，或被请求者未能写出。",
    )
    cites = both("It cites {count} of {all} findings. ", "引用了 {all} 个发现中的 {count} 个。")
    cites_nothing = both(
        "It cites no finding: nothing in it could be checked against the record. ", "没有引用任何发现：内容无法与记录核对。"
    )
    cites_unknown = both(
        "It cites findings that do not exist, marked below: {names}. ", "引用了不存在的发现（已标注）：{names}。"
    )
    cites_refuted = both("It rests on findings that the validator refuted: {names}.", "引用了被验证者证伪的发现：{names}。")
    no_such_finding = both("⚠ no such finding", "⚠ 没有这个发现")
    refuted_finding = both("⚠ refuted", "⚠ 已被证伪")
    no_vote = both("No vote was taken.", "没有进行表决。")
    not_carried = both("The vote carried none of the consensus ideas.", "表决未通过任何共识观点。")
    votes = both("The vote", "表决")
    vote_heads = both(("Idea", "Agent", "Position", "Confidence", "Reason"), ("观点", "Agent", "立场", "置信度", "理由"))
    joined = both("Joined ideas", "合并的观点")
    joined_heads = both(("Join", "Text", "taken for", "Why", "Likeness"), ("合并", "文字", "视同", "原因", "相似度"))
    joined_how = both(
        "Each join can be undone and every figure reckoned anew from the record: moot swarm-report {session} --apart JOIN",
        "每项合并都可撤销，并依记录重新计算全部数值：moot swarm-report {session} --apart JOIN",
    )
    undone = both(
        "RECKONED ANEW with these joins undone: {joins}. The vote and the decision are those of the run, which had them.",
        "已撤销以下合并并重新计算：{joins}。表决与结论仍是运行本身的，运行时含有这些合并。",
    )
    what_happened = both("What happened", "经过")
    event_count = both("{shown} of {all} events", "共 {all} 条事件，显示 {shown} 条")
    round_heads = both(
        ("Round", "Ideas held", "Stable", "Best support", "Quorum", "Diversity", "Verdict"),
        ("轮", "持有观点", "稳定", "最高支持率", "法定人数", "多样性", "判断"),
    )
    convergence_reasons = both(
        {
            "": "converged",
            "min_rounds": "too few rounds",
            "not_stable": "the ideas held are not stable",
            "no_quorum": "no idea has a quorum",
            "diversity": "too little diversity",
            "consensus_too_fast": "consensus too fast",
        },
        {
            "": "收敛",
            "min_rounds": "轮数不足",
            "not_stable": "观点不稳定",
            "no_quorum": "无法定人数共识",
            "diversity": "多样性不足",
            "consensus_too_fast": "共识过快",
        },
    )
    endings = both(
        {
            "converged": "the figures hold",
            "clear": "the readings are clear",
            "max_rounds": "the last round",
            "insufficient_active_agents": "fewer than two active agents were left",
            "synthesis": "the synthesis is written",
            "fault": "a fault in the run itself",
            **SHARED_REPORT_TEXT["en"].budgets,
        },
        {
            "converged": "各项指标满足",
            "clear": "读数已明确",
            "max_rounds": "达到最大轮数",
            "insufficient_active_agents": "活跃 Agent 不足两名",
            "synthesis": "综合已写成",
            "fault": "运行本身出错",
            **SHARED_REPORT_TEXT["zh"].budgets,
        },
    )
    round = both("Round {number}", "第 {number} 轮")
    direction = both("Direction", "探索方向")
    findings = both("Findings", "发现")
    operations = both("Operations", "操作")
    decision = both("Decision report", "决策报告")
    conflicts = both("Conflict review", "冲突审查")
    random = both("Random exploration", "随机探索")
    yes = both("yes", "是")
    no = both("no", "否")
    validator = both("Validation", "验证")
    no_validator = both(
        "No validator sat in this swarm: the arithmetic is the engine's, findings that need it were not checked.",
        "本次没有验证者：数值由引擎计算，待验证的发现未经核查。",
    )
    unvalidated = both("needs validation, not checked", "待验证，未核查")
    validated = both("validator: {verdict}. {reason}", "验证者：{verdict}。{reason}")
    insights = both("New insights from collisions", "碰撞产生的新洞察")


REPORT_TEXT = in_each_language(SwarmReportText)
