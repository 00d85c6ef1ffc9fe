"""The swarm's own terms (roles, states, events, operations) in Chinese. The records keep the terms of the source (M-11)."""

import re
from typing import Final

from moothall.domain.facts import Language

_TABLE: Final = """
roles, states, ends: EXPLORER = 探索者; DEEP_ANALYST = 深度分析者; DEBATER = 辩论者; SYNTHESIZER = 综合者; active = 活跃;
    interrupted = 中断; degraded = 降级; removed = 移除; completed = 完成; terminated = 终止; graceful = 正常结束;
    forced = 强制结束; auto_forced = 自动强制结束; compliance_violation = 违规终止; recovered = 恢复;
    prolonged_silence = 长期沉默; timeout = 超时未答; error = 出错; malformed = 回答不合格式; refused = 拒绝回答;
    rejected_key = 密钥被拒; gave_up = 多次崩溃后放弃; passed_over = 人工跳过; requested = 应请求; rule = 按规则;
    diversity_protection = 保护多样性;
stages: init = 初始化; begin = 开始; explore = 探索; process = 处理操作; review = 碰撞; settle = 结算; measure = 度量;
    vote = 表决; notice = 预告结束; terminate = 终止; close = 关闭; closed = 已关闭;
severities and violations: WARNING = 警告; MINOR = 轻微; MAJOR = 严重; CRITICAL = 极严重;
    reported_operation_not_found = 所报操作无记录; decision_report_missing = 缺少决策报告;
    decision_report_missing_threshold = 决策报告缺少阈值; response_prob_calculation_error = 响应概率计算有误;
    conflict_review_missing = 缺少冲突审查; random_explore_not_executed = 未执行随机探索;
operations and their refusals: deposit_pheromone = 沉积信息素; send_stop_signal = 发出停止信号;
    claim_subtask = 认领子任务; update_finding = 更新发现; transition_role = 转换角色; update_agent_state = 更新状态;
    invalid_params = 参数无效; unknown_operation = 未知操作; agent_not_found = 没有该 Agent;
    max_agents_reached = 人数已满;
collisions, joins, checks, votes: challenge = 质疑; support = 支持; conditional_support = 有条件支持; oppose = 反对;
    abstain = 弃权; extend = 扩展; synthesize = 综合; pass = 跳过; new = 新观点; agreesWith = 自述相同; confirmed = 证实;
    refuted = 证伪; unclear = 不明; meaning = 按语义; words = 按字词; meaning (fallback) = 按语义（后备）;
    words (fallback) = 按字词（后备）; high = 高; medium = 中; low = 低; contradictory_evidence = 证据相左;
    better_alternative = 有更好的方案; resource_conflict = 资源冲突; unanimous = 一致同意; convergent = 趋同;
    majority = 多数通过; contested = 有争议; no_consensus = 未达成共识;
reasons of the end: converged = 收敛; max_rounds = 达到最大轮数; insufficient_active_agents = 活跃 Agent 不足;
    synthesis = 综合; called = 负责人要求结束; tokens = 词元上限; money = 金额上限; time = 时间上限; turns = 轮次上限;
names of fields: agentId = Agent; agents = Agent; reason = 原因; severity = 程度; was = 此前; lost = 失联; of = 共;
    by = 由; before = 之前; after = 之后; direction = 方向; operation = 操作; signal = 信号; fromRole = 原角色;
    toRole = 新角色; probability = 概率; drawn = 抽中; diversity = 多样性; consensusRate = 共识率; true = 是; false = 否;
judging and settling: judge = 裁判; ideas_judged_same = 判为同一观点; ideas_judged_opposite = 判为相反观点; clear = 读数已明确;
"""
"""Terms by subject, each with its translation; a semicolon ends a pair."""
_EVENTS: Final = """
round_degraded = 本轮降级; response_lost = 失去回答; violation = 违规; agent_degraded = Agent 降级;
agent_removed = Agent 移除; agent_terminated = Agent 终止; agent_force_terminated = Agent 强制终止;
agent_interrupted = Agent 中断; agent_active = Agent 恢复; force_wake = 强制唤醒; measure_lost = 度量失联;
diversity_warning = 多样性警告; stagnation_warning = 停滞警告; pheromone_protected = 信息素保护;
pheromone_stopped = 信息素受抑制; stop_signal_expired = 停止信号过期; role_transition_executed = 角色转换;
swarm_completed = 蜂群完成; fault = 运行故障;
"""
"""The events that a reader needs: not the deposits, evaporations and checks of every round."""
_LATIN_WORDS: Final = re.compile(r"[A-Za-z]{3,}[^\u3400-\u9fff]*$")
_PAIR: Final = re.compile(r"([^;:=\n]{1,60}?) = ([^;]{1,200});")
_CHINESE: Final[dict[str, str]] = {term.strip(): text.strip() for term, text in _PAIR.findall(_TABLE + _EVENTS)}
SHOWN_EVENTS: Final = frozenset(term.strip() for term, _ in _PAIR.findall(_EVENTS))
_STRIKES: Final = re.compile(r"([a-z_]{1,40}) \((\d{1,4})\)")


def translate_term(term: str, language: Language) -> str:
    """A term of the swarm in a session's language; what is none stays as it is."""
    if language == "en":
        return term
    strikes = _STRIKES.fullmatch(term)
    if strikes is not None and strikes[1] in _CHINESE:
        return f"{_CHINESE[strikes[1]]}（{strikes[2]}）"
    return _CHINESE.get(term, term)


def translate_detail(detail: str, language: Language) -> str:
    """What exactly was wrong: recorded in English, and left out of a Chinese report unless it is a name."""
    return "" if language == "zh" and _LATIN_WORDS.search(detail) and " " in detail else detail
