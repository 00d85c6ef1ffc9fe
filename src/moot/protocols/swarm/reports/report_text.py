"""The words of reports and terminals in both languages."""

from dataclasses import dataclass

from moot.domain.facts import Language
from moot.reports.shared_text import SHARED_REPORT_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmReportText:
    report: str
    convergence_report: str
    task: str
    mode: str
    modes: dict[str, str]
    agents: str
    crew: str
    agents_line: str
    time: str
    minutes: str
    rounds: str
    partial: str
    converged: str
    not_converged: str
    classic: str
    still_open: str
    cancelled: str
    figures: str
    stability: str
    quorum: str
    diversity: str
    consensus: str
    consensus_heads: tuple[str, ...]
    no_consensus: str
    unique: str
    none: str
    who: str
    who_line: str
    weak: str
    agent_table: str
    agent_heads: tuple[str, ...]
    evolution: str
    pheromones: str
    by_round: str
    conclusion: str
    by_vote: str
    no_vote: str
    not_carried: str
    votes: str
    vote_heads: tuple[str, ...]
    joined: str
    joined_heads: tuple[str, ...]
    joined_how: str
    undone: str
    violations: str
    violation_heads: tuple[str, ...]
    what_happened: str
    round_heads: tuple[str, ...]
    reasons: dict[str, str]
    inputs: str
    endings: dict[str, str]
    losses: dict[str, str]
    lost: str
    cost: str
    cost_heads: tuple[str, ...]
    total: str
    spent: str
    ended_by: str
    round: str
    direction: str
    findings: str
    operations: str
    decision: str
    conflicts: str
    random: str
    yes: str
    no: str
    dissent: str
    validator: str
    no_validator: str
    unvalidated: str
    validated: str
    insights: str


EN = SwarmReportText(
    report="Swarm report",
    convergence_report="Convergence report",
    task="Task",
    mode="Mode",
    modes={"emergent": "emergent", "hybrid": "hybrid", "classic": "classic"},
    agents="Agents",
    crew="{count} Agents",
    agents_line="{count} (active at the end: {active})",
    time="Running time",
    minutes="{minutes:.1f} minutes",
    rounds="Rounds",
    partial="PARTIAL REPORT: the swarm did not converge. What follows is where it stood.",
    converged="Converged: all figures hold.",
    not_converged="Not converged: {reason}.",
    classic="One parallel exploration and its synthesis: the classic mode does not seek convergence.",
    still_open="The swarm is at work.",
    cancelled="Cancelled before its end.",
    figures="Convergence figures",
    stability="β-stability",
    quorum="Quorum",
    diversity="Diversity",
    consensus="Consensus ideas (support ≥ {threshold})",
    consensus_heads=("#", "Idea", "Backers", "Support", "Independent", "Pheromone"),
    no_consensus="No idea reached the quorum.",
    unique="Unique ideas",
    none="None.",
    who="Who held the consensus ideas before reading them",
    who_line="{idea}: held independently by {own}; joined after reading: {joined}.",
    weak="Agreement that comes from reading each other is weak evidence: weigh the independent ones.",
    agent_table="Agents",
    agent_heads=("Agent", "Role", "Status", "End", "Rounds", "Findings", "Deposits", "Violations"),
    evolution="Role evolution",
    pheromones="Pheromone distribution",
    by_round="Convergence by round",
    conclusion="Conclusion",
    by_vote="{kind}: {count} of {all} took a side, support {support}, group confidence {confidence}.",
    no_vote="No vote was taken.",
    not_carried="The vote carried none of the consensus ideas.",
    votes="The vote",
    vote_heads=("Idea", "Agent", "Position", "Confidence", "Reason"),
    joined="Joined ideas",
    joined_heads=("Join", "Text", "taken for", "Why", "Likeness"),
    joined_how="Each join can be undone and every figure reckoned anew from the record: moot swarm-report {session} --apart JOIN",
    undone="RECKONED ANEW with these joins undone: {joins}. The vote and the decision are those of the run, which had them.",
    violations="Violations",
    violation_heads=("Round", "Agent", "Violation", "Severity", "Detail"),
    what_happened="What happened",
    round_heads=("Round", "Ideas held", "Stable", "Best support", "Quorum", "Diversity", "Verdict"),
    reasons={
        "": "converged",
        "min_rounds": "too few rounds",
        "not_stable": "the ideas held are not stable",
        "no_quorum": "no idea has a quorum",
        "diversity": "too little diversity",
        "consensus_too_fast": "consensus too fast",
    },
    inputs="Words of the user's",
    endings={
        "converged": "the figures hold",
        "max_rounds": "the last round",
        "insufficient_active_agents": "fewer than two active agents were left",
        "synthesis": "the synthesis is written",
        "fault": "a fault in the run itself",
        **SHARED_REPORT_TEXT["en"].budgets,
    },
    losses=SHARED_REPORT_TEXT["en"].losses,
    lost="Lost",
    cost=SHARED_REPORT_TEXT["en"].cost,
    cost_heads=SHARED_REPORT_TEXT["en"].cost_heads,
    total=SHARED_REPORT_TEXT["en"].total,
    spent=SHARED_REPORT_TEXT["en"].spent,
    ended_by="Ended by",
    round="Round {number}",
    direction="Direction",
    findings="Findings",
    operations="Operations",
    decision="Decision report",
    conflicts="Conflict review",
    random="Random exploration",
    yes="yes",
    no="no",
    dissent="Dissent",
    validator="Validation",
    no_validator="No validator sat in this swarm: the arithmetic is the engine's, findings that need it were not checked.",
    unvalidated="needs validation, not checked",
    validated="validator: {verdict}. {reason}",
    insights="New insights from collisions",
)
ZH = SwarmReportText(
    report="Swarm 协作完成报告",
    convergence_report="Swarm 收敛报告",
    task="任务",
    mode="模式",
    modes={"emergent": "涌现式协作", "hybrid": "混合模式", "classic": "兼容模式"},
    agents="Agent数",
    crew="{count} 个 Agent",
    agents_line="{count}（结束时活跃：{active}）",
    time="执行时间",
    minutes="{minutes:.1f} 分钟",
    rounds="迭代轮数",
    partial="部分报告：蜂群未收敛。以下是其所处状态。",
    converged="已收敛：所有收敛条件满足。",
    not_converged="未收敛：{reason}。",
    classic="一次并行探索及其综合：兼容模式不求收敛。",
    still_open="蜂群仍在工作。",
    cancelled="在结束前被取消。",
    figures="收敛指标",
    stability="β稳定性",
    quorum="法定人数",
    diversity="多样性",
    consensus="共识观点（支持率 ≥ {threshold}）",
    consensus_heads=("#", "观点", "支持人数", "支持率", "独立持有", "信息素"),
    no_consensus="没有观点达到法定人数。",
    unique="创新观点（独特发现）",
    none="无。",
    who="谁在读到之前就持有共识观点",
    who_line="{idea}：独立持有者 {own}；读后加入者 {joined}。",
    weak="因互相阅读而来的一致是弱证据：请以独立持有者为准。",
    agent_table="Agent状态",
    agent_heads=("Agent", "角色", "状态", "结束方式", "轮数", "发现", "信息素沉积", "违规分"),
    evolution="角色演化路径",
    pheromones="信息素分布",
    by_round="逐轮收敛",
    conclusion="最终结论",
    by_vote="{kind}：{all} 名中 {count} 名表态，支持率 {support}，群体置信度 {confidence}。",
    no_vote="没有进行表决。",
    not_carried="表决未通过任何共识观点。",
    votes="表决",
    vote_heads=("观点", "Agent", "立场", "置信度", "理由"),
    joined="合并的观点",
    joined_heads=("合并", "文字", "视同", "原因", "相似度"),
    joined_how="每项合并都可撤销，并依记录重新计算全部数值：moot swarm-report {session} --apart JOIN",
    undone="已撤销以下合并并重新计算：{joins}。表决与结论仍是运行本身的，运行时含有这些合并。",
    violations="违规",
    violation_heads=("轮", "Agent", "违规", "级别", "说明"),
    what_happened="经过",
    round_heads=("轮", "持有观点", "稳定", "最高支持率", "法定人数", "多样性", "判断"),
    reasons={
        "": "收敛",
        "min_rounds": "轮数不足",
        "not_stable": "观点不稳定",
        "no_quorum": "无法定人数共识",
        "diversity": "多样性不足",
        "consensus_too_fast": "共识过快",
    },
    inputs="用户的话",
    endings={
        "converged": "各项指标满足",
        "max_rounds": "达到最大轮数",
        "insufficient_active_agents": "活跃 Agent 不足两名",
        "synthesis": "综合已写成",
        "fault": "运行本身出错",
        **SHARED_REPORT_TEXT["zh"].budgets,
    },
    losses=SHARED_REPORT_TEXT["zh"].losses,
    lost="缺席",
    cost=SHARED_REPORT_TEXT["zh"].cost,
    cost_heads=SHARED_REPORT_TEXT["zh"].cost_heads,
    total=SHARED_REPORT_TEXT["zh"].total,
    spent=SHARED_REPORT_TEXT["zh"].spent,
    ended_by="结束原因",
    round="第 {number} 轮",
    direction="探索方向",
    findings="发现",
    operations="操作",
    decision="决策报告",
    conflicts="冲突审查",
    random="随机探索",
    yes="是",
    no="否",
    dissent="异议",
    validator="验证",
    no_validator="本次没有验证者：数值由引擎计算，待验证的发现未经核查。",
    unvalidated="待验证，未核查",
    validated="验证者：{verdict}。{reason}",
    insights="碰撞产生的新洞察",
)
REPORT_TEXT: dict[Language, SwarmReportText] = {"en": EN, "zh": ZH}
