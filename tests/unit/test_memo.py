"""The memo: every state of its table, what holds of any, and what it leaves out to fit (T-1 to T-5)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.support.memos import (
    ENDS,
    check_memo,
    count_terminal_lines,
    list_forbidden_words,
)

import moothall
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.domain.session_state import LostSeat
from moothall.domain.topic import Frame
from moothall.features.notices.delivery import list_notice_lines
from moothall.reports.decision import (
    AnsweredInput,
    Decision,
    Dissent,
    Obligation,
    QuotationFault,
    SeatPosition,
    SourcedClaim,
)
from moothall.reports.how import (
    ByAnswer,
    ByAuthor,
    ByMeasure,
    ByMinutes,
    ByOwner,
    ByReview,
    BySteps,
    ByVotes,
    How,
    LeadingSide,
    Standing,
    Undecided,
)
from moothall.reports.memo import build_memo, summarize_decision
from moothall.reports.memo_summary import join_badge
from moothall.reports.sentences import (
    keep_first,
    keep_last,
    shorten_sentence,
    split_sentences,
)

NAMES = tuple(SeatId(name) for name in ("Ada", "Bob", "Cy", "Dee", "Eve", "Fay"))
ADA, BOB, CY, DEE, EVE, FAY = NAMES


def stand(*verdicts: str | None) -> tuple[SeatPosition, ...]:
    """One participant for each verdict, in the order of the names."""
    return tuple(
        SeatPosition(seat=seat, verdict=verdict, choice_before="keep")
        for seat, verdict in zip(NAMES, verdicts, strict=False)
        if verdict is not None
    )


def decide(how: How | None, *verdicts: str | None, **more: Any) -> Decision:
    given: dict[str, Any] = {
        "session": SessionId("s"),
        "topic": "Do we keep it?",
        "status": "concluded",
        "decision": SourcedClaim(text="Keep it."),
        "how": how,
        "asked": NAMES[: len(verdicts)],
        "positions": stand(*verdicts),
        "support": 1.0,
        "turnout": 1.0,
        "voters": len([each for each in verdicts if each is not None]),
    }
    return Decision(**{**given, **more})


def fail(how: How, *verdicts: str | None, **more: Any) -> Decision:
    return decide(how, *verdicts, **{"decision": None, "support": None, **more})


def lose(seat: SeatId, last: Any = "timeout") -> LostSeat:
    return LostSeat(seat=seat, times=1, last=last, weight_share=0.3, did_not_vote=True)


FOR, IF, NO = "support", "conditional_support", "oppose"
LEAD = LeadingSide(text="Keep it", supporters=(ADA, BOB), opponents=(CY,))
SECOND = LeadingSide(text="Sell it", supporters=(CY, DEE))
EVEN = LeadingSide(text="Keep it", supporters=(ADA,), opponents=(BOB,))
STATES: list[tuple[str, Decision | Standing, str, str, str, str]] = [
    (
        "stopped at once",
        decide(ByVotes(ending="agreed_blind"), FOR, FOR, FOR),
        "all 3",
        "All 3 gave the same answer, each alone; there was nothing to discuss: Keep it.",
        "3 人一致",
        "3 人各自作答，答案相同，无须再议：Keep it.",
    ),
    (
        "one mind was enough",
        decide(ByVotes(ending="one_mind"), FOR, None, None),
        "Ada alone",
        "Ada alone was asked; its record on such questions was good enough: Keep it.",
        "仅Ada",
        "只问了Ada，其过往记录足够可靠：Keep it.",
    ),
    (
        "settled early",
        decide(ByVotes(ending="settled", unasked=2), FOR, FOR, FOR, NO, None, None),
        "3 of 4 asked",
        "Settled by the first answers, 3 of 4 alike; 2 were not asked: Keep it.",
        "4 人中 3 人",
        "首批 4 人中 3 人答案相同，已够明确，未再问另 2 人：Keep it.",
    ),
    (
        "one took a side",
        decide(ByVotes(), FOR, None, None),
        "1 of 3",
        "Only Ada took a side, for it: Keep it.",
        "3 人中 1 人",
        "只有Ada表态，赞成：Keep it.",
    ),
    (
        "one answer from the start",
        decide(ByVotes(), FOR, FOR, FOR, held_before=(ADA, BOB, CY)),
        "all 3",
        "All 3 agree, and did before they talked: Keep it.",
        "3 人一致",
        "3 人一致，讨论之前就已如此：Keep it.",
    ),
    (
        "agreed after several tries",
        decide(ByVotes(tries=2), FOR, FOR, IF),
        "all 3",
        "All 3 agree, 1 on a condition, at the second try: Keep it.",
        "3 人一致",
        "第二稿获 3 人一致同意，其中 1 人附条件：Keep it.",
    ),
    (
        "one answer by talking",
        decide(ByVotes(), FOR, IF, held_before=(ADA,)),
        "all 2",
        "Both agree, 1 on a condition: Keep it.",
        "2 人一致",
        "两人一致同意，其中 1 人附条件：Keep it.",
    ),
    (
        "enough for the quorum",
        decide(ByVotes(is_quorum=True), FOR, FOR, FOR, None),
        "3 of 4",
        "Agreed by 3 of 4, as many as were asked for: Keep it.",
        "4 人中 3 人",
        "4 人中 3 人同意，已达约定人数：Keep it.",
    ),
    (
        "nobody against",
        decide(ByVotes(), FOR, FOR, "abstain", None),
        "2 of 4",
        "Decided by 2 of 4, nobody against: Keep it.",
        "4 人中 2 人",
        "4 人中 2 人赞成，无人反对，决定：Keep it.",
    ),
    (
        "by weight",
        decide(ByVotes(), FOR, NO, NO, support=0.7),
        "1 against 2",
        "Decided 1 against 2, because their votes count more: Keep it.",
        "1 对 2",
        "1 人赞成，2 人反对，凭权重通过：Keep it.",
    ),
    (
        "narrow majority",
        decide(ByVotes(), FOR, FOR, FOR, NO, NO, support=0.59),
        "3 to 2",
        "Decided by 3 to 2: Keep it.",
        "3 比 2",
        "以 3 比 2 通过：Keep it.",
    ),
    (
        "majority",
        decide(ByVotes(), FOR, FOR, IF, NO, support=0.6),
        "3 of 4",
        "Decided by 3 of 4, Dee against: Keep it.",
        "4 人中 3 人",
        "4 人中 3 人赞成，Dee反对，决定：Keep it.",
    ),
    (
        "against most",
        decide(ByOwner(owner=ADA, advisers=3, advised=3), FOR, NO, NO, None, support=0.49),
        "against most",
        "Ada decided against most of the others (2 of 3): Keep it.",
        "多数反对",
        "Ada不顾多数（3 人中 2 人）反对，决定：Keep it.",
    ),
    (
        "owner, all began alike",
        decide(ByOwner(owner=ADA, advisers=2, advised=0, is_alike=True), FOR, FOR, FOR),
        "all 3",
        "Ada and both advisers gave the same answer, each alone: Keep it.",
        "3 人一致",
        "Ada与两人顾问各自作答，答案相同：Keep it.",
    ),
    (
        "owner, after advice",
        decide(ByOwner(owner=ADA, advisers=3, advised=2), FOR, FOR, FOR, None),
        "Ada alone",
        "Ada decided, after advice from 2 of 3: Keep it.",
        "Ada定",
        "Ada听取 3 人中 2 人的意见后决定：Keep it.",
    ),
    (
        "owner, nobody advised",
        decide(ByOwner(owner=ADA, advisers=3), FOR, None, None, None),
        "Ada alone",
        "Ada decided; nobody gave advice: Keep it.",
        "Ada定",
        "无人提出意见，Ada决定：Keep it.",
    ),
    (
        "nobody spoke",
        decide(ByVotes(silent_writer=ADA), FOR, FOR, NO),
        "no talk",
        "Nobody spoke; Ada wrote the decision, 2 of 3 for it: Keep it.",
        "未讨论",
        "无人发言，Ada执笔，3 人中 2 人赞成：Keep it.",
    ),
    (
        "alone",
        decide(ByAuthor(author=ADA), support=None, voters=0),
        "Ada alone",
        "Ada decided alone: Keep it.",
        "仅Ada",
        "Ada单独决定：Keep it.",
    ),
    (
        "a protocol of one's own",
        decide(ByAuthor(author=ADA, backers=3), support=None, voters=0, backers=3),
        "Ada alone",
        "Ada wrote, 3 stand behind it: Keep it.",
        "仅Ada",
        "Ada执笔，3 人支持：Keep it.",
    ),
    (
        "imported",
        decide(ByAuthor(author=None, is_imported=True), support=None, voters=0),
        "held elsewhere",
        "Held elsewhere, read from a file: Keep it.",
        "别处举行",
        "在别处举行，由文件读入：Keep it.",
    ),
    (
        "minutes, all agree",
        decide(ByMinutes(), asked=(ADA, BOB, CY), backers_named=(ADA, BOB, CY), support=None),
        "all 3",
        "All 3 agree: Keep it.",
        "3 人一致",
        "3 人一致：Keep it.",
    ),
    (
        "minutes, a point open",
        decide(
            ByMinutes(open_points=1), asked=(ADA, BOB, CY), backers_named=(ADA, BOB), support=None
        ),
        "2 of 3",
        "2 of 3 agree, 1 point left open: Keep it.",
        "3 人中 2 人",
        "3 人中 2 人同意，1 点未决：Keep it.",
    ),
    (
        "minutes, all agree on the rest",
        decide(ByMinutes(open_points=2), asked=(ADA, BOB), backers_named=(ADA, BOB), support=None),
        "all 2",
        "Both agree, 2 points left open: Keep it.",
        "2 人一致",
        "两人一致，2 点未决：Keep it.",
    ),
    (
        "minutes, some declared",
        decide(ByMinutes(), asked=(ADA, BOB, CY), backers_named=(ADA, BOB), support=None),
        "2 of 3",
        "2 of 3 agree: Keep it.",
        "3 人中 2 人",
        "3 人中 2 人同意：Keep it.",
    ),
    (
        "minutes, nobody declared",
        decide(ByMinutes(), asked=(ADA, BOB, CY), support=None),
        "minutes",
        "The minutes say (nobody declared agreement): Keep it.",
        "纪要",
        "纪要所记（无人明确表示同意）：Keep it.",
    ),
    (
        "found",
        decide(ByMeasure(way="vote", readers=3), FOR, FOR, NO),
        "2 of 3",
        "Found and backed by 2 of 3, Cy against: Keep it.",
        "3 人中 2 人",
        "3 人中 2 人支持，Cy反对，选出：Keep it.",
    ),
    (
        "found, nobody against",
        decide(ByMeasure(way="vote", readers=3), FOR, FOR, None),
        "2 of 3",
        "Found and backed by 2 of 3: Keep it.",
        "3 人中 2 人",
        "3 人中 2 人支持，选出：Keep it.",
    ),
    (
        "found by readings",
        decide(ByMeasure(way="readings", readers=3), None, None, None, support=None),
        "3 of 3",
        "Found by what 3 looked up, without a vote: Keep it.",
        "3 人中 3 人",
        "据 3 人各自查证选出，未经表决：Keep it.",
    ),
    (
        "summed up",
        decide(ByMeasure(way="synthesis", readers=3, writer=ADA), None, None, None, support=None),
        "Ada alone",
        "Ada sums up what 3 found: Keep it.",
        "仅Ada",
        "Ada综合 3 人所得：Keep it.",
    ),
    (
        "answered",
        decide(ByAnswer(outcome="answered", asked="Ada", asker="Bob"), support=None, voters=0),
        "Ada",
        "Ada answers Bob: Keep it.",
        "Ada",
        "Ada答复Bob：Keep it.",
    ),
    (
        "answered to the user",
        decide(ByAnswer(outcome="answered", asked="Ada", asker=USER), support=None, voters=0),
        "Ada",
        "Ada answers you: Keep it.",
        "Ada",
        "Ada答复您：Keep it.",
    ),
    (
        "does not know",
        fail(ByAnswer(outcome="unknown", asked="Ada", asker="Bob", ask_instead="Cy")),
        "not known",
        "Ada does not know; ask Cy.",
        "不知",
        "Ada不知道；建议问Cy。",
    ),
    (
        "not asked",
        fail(ByAnswer(outcome="refused", asked="Ada", asker="Bob")),
        "no answer",
        "Not asked: those who are being consulted may not consult others.",
        "无答复",
        "未获准提问：被咨询时不能再咨询他人。",
    ),
    (
        "no answer",
        fail(ByAnswer(outcome="failed", asked="Ada", asker="Bob", loss="timeout")),
        "no answer",
        "No answer from Ada (not in time).",
        "无答复",
        "Ada没有答复（超时）。",
    ),
    (
        "done",
        decide(BySteps(outcome="completed", all=7, passed=2, rejected=2), support=None, backers=2),
        "done",
        "Done, all 7 steps, 2 checks passed after 2 rejections: Keep it.",
        "完成",
        "7 步全部完成，2 道审核通过（此前 2 次未通过）：Keep it.",
    ),
    (
        "done, without a rejection",
        decide(BySteps(outcome="completed", all=2, passed=1), support=None, backers=2),
        "done",
        "Done, both steps, 1 check passed: Keep it.",
        "完成",
        "两步全部完成，1 道审核通过：Keep it.",
    ),
    (
        "rejected for good",
        fail(BySteps(outcome="rejected", all=7, at=4, step="check", seat=ADA, rejected=2)),
        "rejected",
        "Stopped at step 4 of 7 (check): Ada rejected it 2 times.",
        "未通过",
        "止于第 4 步（check，共 7 步）：Ada 2 次不予通过。",
    ),
    (
        "failed",
        fail(BySteps(outcome="failed", all=7, at=3, step="analysis", seat=ADA)),
        "stopped",
        "Stopped at step 3 of 7 (analysis): Ada could not answer.",
        "中止",
        "止于第 3 步（analysis，共 7 步）：Ada未能作答。",
    ),
    (
        "approve",
        decide(ByReview(outcome="approve", readers=3, reviewers=3), support=None, backers=3),
        "approve",
        "Approve: 3 of 3 read all of it and found no fault.",
        "通过",
        "通过：3 人中 3 人全部读完，未发现问题。",
    ),
    (
        "approve with small ones",
        decide(
            ByReview(outcome="approve", readers=3, reviewers=3, small=4), support=None, backers=3
        ),
        "approve",
        "Approve: nothing must be mended; 4 smaller findings.",
        "通过",
        "通过：没有必须修改之处；另有 4 处小问题。",
    ),
    (
        "changes",
        decide(
            ByReview(outcome="changes", faults=2, place="pay.py:41", claim="It pays twice."),
            support=None,
            backers=2,
        ),
        "2 to mend",
        "Changes requested: 2 faults must be mended, the worst in `pay.py:41`: “It pays twice.”",
        "需改 2 处",
        "需要修改：有 2 处必须改，最严重的在 `pay.py:41`：“It pays twice.”",
    ),
    (
        "no verdict, disputed",
        fail(ByReview(outcome="tied", claim="It pays twice.")),
        "no verdict",
        "No verdict: as many confirm as dispute “It pays twice.”",
        "无结论",
        "无结论：认可与反对者一样多：“It pays twice.”",
    ),
    (
        "no verdict, few readers",
        fail(ByReview(outcome="few_readers", readers=1, reviewers=3), lost=(lose(ADA),)),
        "no verdict",
        "No verdict: only 1 of 3 read all of it (Ada: not in time).",
        "无结论",
        "无结论：3 人中只有 1 人读完（Ada：超时）。",
    ),
    (
        "no verdict, unplaced",
        fail(ByReview(outcome="unplaced", readers=3, reviewers=3, faults=4)),
        "no verdict",
        "No verdict: 4 faults were raised that could not be found in the change.",
        "无结论",
        "无结论：提出的 4 处问题在改动中找不到。",
    ),
    (
        "a leader, not enough",
        fail(Undecided(reason="leader", needed=3, threshold=0.7), FOR, FOR, NO, leaders=(LEAD,)),
        "not decided",
        "Not decided: 2 of 3 are for “Keep it”, Cy is not; all 3 were needed.",
        "未定",
        "未定：3 人中 2 人赞成“Keep it”，Cy不赞成；需要全部 3 人同意。",
    ),
    (
        "not sure enough",
        fail(
            Undecided(reason="not_sure", needed=2, threshold=0.7),
            FOR,
            FOR,
            leaders=(replace(LEAD, opponents=(), unsure=((BOB, 0.6),)),),
        ),
        "not decided",
        "Not decided: 2 of 2 are for “Keep it”, but Bob is 60 % sure and 70 % was asked of each.",
        "未定",
        "未定：2 人中 2 人赞成“Keep it”，但Bob的把握为 60 %，约定每人至少 70 %。",
    ),
    (
        "not likely enough",
        fail(
            Undecided(reason="not_likely", threshold=0.7, chance=0.55),
            FOR,
            FOR,
            NO,
            leaders=(LEAD,),
        ),
        "not decided",
        "Not decided: 2 of 3 are for “Keep it”, but it is right with 55 %, and 70 % was asked for.",
        "未定",
        "未定：3 人中 2 人赞成“Keep it”，但正确的可能性为 55 %，约定为 70 %。",
    ),
    (
        "tie",
        fail(Undecided(reason="tie"), FOR, NO, leaders=(EVEN,)),
        "1 to 1",
        "Not decided: 1 for and 1 against “Keep it”.",
        "1 比 1",
        "未定：“Keep it”1 人赞成、1 人反对。",
    ),
    (
        "a missing voice would decide",
        fail(
            Undecided(reason="tie"),
            FOR,
            NO,
            None,
            leaders=(EVEN,),
            lost=(lose(CY),),
            outcome_uncertain=True,
        ),
        "1 to 1",
        "Not decided: 1 for and 1 against “Keep it”; Cy's voice is missing and would decide it.",
        "1 比 1",
        "未定：“Keep it”1 人赞成、1 人反对，Cy的意见缺席，可定结果。",
    ),
    (
        "no majority",
        fail(
            Undecided(reason="no_majority"),
            FOR,
            FOR,
            NO,
            NO,
            None,
            leaders=(LEAD, SECOND),
            near=1,
        ),
        "not decided",
        "Not decided: “Keep it” has 2 of 5, “Sell it” 2; 1 more would have done.",
        "未定",
        "未定：5 人中“Keep it”2 人、“Sell it”2 人，再有 1 人即可通过。",
    ),
    (
        "no side",
        fail(Undecided(reason="no_side"), None, None),
        "not decided",
        "Not decided: nobody took a side.",
        "未定",
        "未定：无人表态。",
    ),
    (
        "nothing proposed",
        fail(Undecided(reason="nothing_proposed"), None, None),
        "not decided",
        "Not decided: nobody proposed anything.",
        "未定",
        "未定：无人提出方案。",
    ),
    (
        "voices lost",
        fail(
            Undecided(reason="voices_lost"),
            None,
            None,
            FOR,
            lost=(lose(ADA), lose(BOB, "rejected_key")),
        ),
        "not decided",
        "Not decided: 2 of 3 gave no answer (Ada: not in time; Bob: key rejected).",
        "未定",
        "未定：3 人中 2 人没有作答（Ada：超时；Bob：密钥被拒）。",
    ),
    (
        "owner lost",
        fail(Undecided(reason="owner_lost"), None, None, lost=(lose(ADA),)),
        "not decided",
        "Not decided: Ada, who decides, gave no answer.",
        "未定",
        "未定：负责决定的Ada没有作答。",
    ),
    (
        "limit reached",
        fail(Undecided(reason="limit", limit="money"), None, None, leaders=(LEAD,)),
        "not decided",
        "Not decided: the limit of money was reached before the vote; “Keep it” was ahead.",
        "未定",
        "未定：表决之前已达费用上限；“Keep it”领先。",
    ),
    (
        "ended by hand",
        fail(Undecided(reason="called"), None, None),
        "not decided",
        "Not decided: it was ended by hand before the vote.",
        "未定",
        "未定：表决之前由人结束。",
    ),
    (
        "nothing agreed",
        fail(Undecided(reason="nothing_agreed"), None, None),
        "not decided",
        "Not decided: nothing was agreed.",
        "未定",
        "未定：没有谈拢。",
    ),
    (
        "nobody spoke, nothing decided",
        fail(Undecided(reason="nobody_spoke"), None, None),
        "not decided",
        "Not decided: nobody spoke.",
        "未定",
        "未定：无人发言。",
    ),
    (
        "no minutes",
        fail(Undecided(reason="no_minutes"), None, None),
        "not decided",
        "Not decided: nobody could write the minutes; what was said stands below.",
        "未定",
        "未定：纪要未能写成，发言见下文。",
    ),
    (
        "two not told apart",
        fail(Undecided(reason="two_level"), None, None, None, None, None, leaders=(LEAD, SECOND)),
        "2 level",
        "Not decided between two: “Keep it” and “Sell it”; 2 and 2 of 5 came out for them.",
        "两者相当",
        "未定，两者难分：“Keep it”与“Sell it”，5 人中分别有 2 人和 2 人支持。",
    ),
    (
        "one leads, not enough",
        fail(Undecided(reason="leads", needed=4), None, None, None, None, None, leaders=(LEAD,)),
        "not decided",
        "Not decided: “Keep it” leads with 2 of 5; 4 were needed.",
        "未定",
        "未定：“Keep it”以 5 人中 2 人领先，需要 4 人。",
    ),
    (
        "too few were left",
        fail(Undecided(reason="too_few"), None, None),
        "not decided",
        "Not decided: fewer than two were left to ask.",
        "未定",
        "未定：能作答者不足两位。",
    ),
    (
        "running, sealed",
        Standing(state="running", progress="sealed", answered=3, asked=4, waiting=("Dee",)),
        "running",
        "Still open: 3 of 4 have answered; nobody sees an answer before all have. Waiting for Dee.",
        "进行中",
        "进行中：4 人中 3 人已作答，到齐之前互不可见。尚待Dee。",
    ),
    (
        "running, open",
        Standing(state="running", progress="talk", answered=6, open_objections=2, waiting=("Dee",)),
        "running",
        "Still open: 6 have spoken, 2 objections are not answered. Next: Dee.",
        "进行中",
        "进行中：已有 6 人发言，2 条异议未答。下一位：Dee。",
    ),
    (
        "running, steps",
        Standing(
            state="running", progress="step", number=3, of=7, step="analysis", waiting=("Ada",)
        ),
        "3 of 7",
        "Still open: step 3 of 7 (analysis), Ada is at it.",
        "3/7",
        "进行中：第 3 步（analysis，共 7 步），由Ada处理。",
    ),
    (
        "running, rounds",
        Standing(state="running", progress="round", number=2, of=3, waiting=("Ada",)),
        "2 of 3",
        "Still open: round 2 of 3, Ada has the floor.",
        "2/3",
        "进行中：第 2 轮（共 3 轮），Ada发言。",
    ),
    (
        "just begun",
        Standing(state="running"),
        "running",
        "Still open; nothing is decided yet.",
        "进行中",
        "进行中，尚无决定。",
    ),
    (
        "waits for another",
        Standing(state="running", progress="outside", waiting=("Anna",), until="17:00"),
        "waits",
        "Waiting for Anna, by 17:00; nothing is lost.",
        "等待",
        "等Anna作答（17:00 前），内容未丢失。",
    ),
    (
        "on hold",
        Standing(state="parked", session="s", reason="the model server is down."),
        "on hold",
        "On hold, nothing is lost: the model server is down.",
        "暂停",
        "暂停，内容未丢失：the model server is down.",
    ),
    (
        "stopped",
        Standing(state="stopped", session="s"),
        "stopped",
        "Stopped, nothing is lost.",
        "中止",
        "已停，内容未丢失。",
    ),
    (
        "cancelled",
        Standing(state="cancelled", reason="The question is moot."),
        "cancelled",
        "Cancelled before a decision: “The question is moot.”",
        "已取消",
        "作出决定之前已取消：“The question is moot.”",
    ),
    (
        "damaged",
        Standing(state="damaged", session="s"),
        "damaged",
        "It cannot be read: the record is damaged. To see more: `moot verify s`.",
        "损坏",
        "无法读取：记录已损坏，可用 `moot verify s` 查看。",
    ),
    (
        "newer",
        Standing(state="newer", session="s"),
        "newer",
        "It was written by a newer Moot.",
        "版本较新",
        "由更新版本的 Moot 写成。",
    ),
]


@pytest.mark.parametrize(
    ("source", "badge", "english", "han_badge", "han"),
    [state[1:] for state in STATES],
    ids=[state[0] for state in STATES],
)
def test_every_state_has_its_sentence_in_both_languages(
    source: Decision | Standing, badge: str, english: str, han_badge: str, han: str
) -> None:
    """T-1, T-2, M-9"""
    memo = check_memo(source, "en")
    assert (memo.badge, memo.result.text) == (badge, english)
    memo = check_memo(source, "zh")
    assert (memo.badge, memo.result.text) == (han_badge, han)
    assert list_forbidden_words(memo) == []


@pytest.mark.parametrize("state", [each for each in STATES if isinstance(each[1], Decision)])
def test_nothing_below_an_undecided_result_passes_for_a_decision(state: Any) -> None:
    """T-2: no chance, no support and no author of what was not decided."""
    if state[1].decision is not None:
        return
    memo = build_memo(replace(state[1], confidence=0.9, support=0.9, author=ADA), "en")
    assert not {"chance", "before", "body"} & {line.slot for line in memo.lines}
    assert "90 %" not in memo.text


@pytest.mark.parametrize(
    ("choice", "text", "what"),
    [
        ("Keep Postgres", "Because.", "Keep Postgres."),
        ("yes", "Because.", "yes, to “Do we keep it?”"),
        ("", "# Title\n\n- **Keep it** for a year. Then sell.", "Keep it for a year."),
        ("", f"Keep it; {'then wait ' * 30}and sell.", "Keep it."),
        ("", f"Keep it {'and wait ' * 30}.", "the text stands below."),
        ("", "", "the text stands below."),
        (
            "one two three four five six seven eight nine",
            "x",
            "one two three four five six seven eight nine.",
        ),
    ],
)
def test_what_was_decided_is_a_whole_sentence(choice: str, text: str, what: str) -> None:
    """T-5"""
    decision = decide(ByVotes(), FOR, FOR, choice=choice, decision=SourcedClaim(text=text))
    memo = check_memo(decision)
    assert memo.result.text == f"Both agree: {what}"
    assert memo.what == what


def test_a_forecast_is_its_chance() -> None:
    """T-5, Q-10"""
    decision = decide(
        ByVotes(), FOR, FOR, choice="yes", confidence=0.62, frame=Frame(kind="forecast")
    )
    assert build_memo(decision, "en").what == "yes, with 62 %."


def test_a_chance_stands_only_where_it_may() -> None:
    """T-1, Q-10"""
    decision = decide(
        ByVotes(),
        FOR,
        FOR,
        NO,
        confidence=0.8,
        can_turn_out=True,
        held_before=(ADA, BOB),
    )
    said = "About 8 in 10 that it is right, by what 3 answered before they talked."
    assert said in build_memo(decision, "en").text
    for other in (
        replace(decision, can_turn_out=False),
        replace(decision, chance_hidden=True),
        replace(decision, held_before=()),
        replace(decision, confidence=None),
    ):
        assert "in 10" not in build_memo(other, "en").text


def test_conditions_come_open_first_then_by_date() -> None:
    """T-1"""
    obligations = (
        Obligation(seat=ADA, text="Done.", state="met"),
        Obligation(seat=BOB, text="Later.", due="2027-03-01"),
        Obligation(seat=CY, text="Soon.", due="2026-12-31"),
    )
    decision = decide(ByVotes(), IF, IF, IF, obligations=obligations, opened_on="2026-11-19")
    lines = [line.text for line in build_memo(decision, "en").lines if line.slot == "next"]
    assert lines == [
        "Cy's condition (by 31 December, open): Soon.",
        "Bob's condition (by 1 March 2027, open): Later.",
        "Ada's condition (fulfilled): Done.",
    ]
    lines = [line.text for line in build_memo(decision, "zh").lines if line.slot == "next"]
    assert lines[0] == "Cy的条件（12 月 31 日前，未了结）：Soon."


def test_the_strongest_objection_is_that_of_the_heaviest_who_is_against_it() -> None:
    """T-1"""
    positions = tuple(
        replace(each, weight=weight)
        for each, weight in zip(stand(FOR, FOR, NO, NO), (1, 1, 1, 2), strict=True)
    )
    dissent = (
        Dissent(seat=ADA, kind="challenge", text="And then?"),
        Dissent(seat=CY, kind="oppose", text="No."),
        Dissent(seat=DEE, kind="oppose", text="Never."),
    )
    decision = decide(ByVotes(), FOR, FOR, NO, NO, positions=positions, dissent=dissent)
    assert "Dee: “Never.”" in build_memo(decision, "en").text
    assert "Cy: “No.”" not in build_memo(decision, "en").text


def test_names_become_counts_from_seven_on() -> None:
    """T-1"""
    names = tuple(SeatId(f"n{number}") for number in range(7))
    positions = tuple(
        SeatPosition(seat=seat, verdict=verdict)
        for seat, verdict in zip(names, [FOR] * 5 + [IF, NO], strict=True)
    )
    decision = decide(ByVotes(), asked=names, positions=positions, voters=7)
    memo = build_memo(decision, "en")
    assert "5 for, 1 on a condition, 1 against (n6)." in memo.text
    assert "赞成 5 人、有条件 1 人、反对 1 人（n6）。" in build_memo(decision, "zh").text


def test_a_tie_says_what_broke_it() -> None:
    """T-4"""
    other = LeadingSide(text="Sell it.", supporters=(ADA, BOB))
    decision = decide(
        ByVotes(), FOR, FOR, NO, leaders=(LEAD, other), tie_by="first_answers", support=0.7
    )
    said = "“Sell it” had 2 of 3 too; their first answers broke the tie."
    memo = build_memo(decision, "en")
    assert said in memo.text
    assert memo.full_badge == "2 of 3 ! tie broken"
    summary = summarize_decision(decision)
    assert summary == ("2 of 3", "Keep it.", "tie broken")
    assert join_badge(summary.badge, summary.reservation) == memo.full_badge


def test_a_protocol_that_does_not_say_how_gets_what_its_decision_has() -> None:
    """T-1: nobody is said to have decided alone where no author is named."""
    some = decide(None, None, None, None, asked=NAMES[:3], voters=2, support=None)
    assert build_memo(some, "en").result.text == "Decided, 2 of 3 took part: Keep it."
    assert summarize_decision(some).badge == "2 of 3"
    assert build_memo(replace(some, voters=3), "zh").badge == "3 人一致"
    bare = replace(some, voters=0)
    assert build_memo(bare, "en").result.text == "Decided: Keep it."
    assert summarize_decision(bare).badge == "done"
    authored = replace(bare, author=ADA, backers=3)
    assert build_memo(authored, "en").result.text == "Ada wrote, 3 stand behind it: Keep it."


def test_a_list_says_why_nothing_was_decided_and_never_that_the_text_stands_below() -> None:
    """T-1, T-2, M-9: a list has nothing below its line."""
    undecided = fail(Undecided(reason="no_side"), None, None)
    summary = summarize_decision(undecided)
    assert summary == ("not decided", "Not decided: nobody took a side.", "")
    long = decide(ByVotes(), FOR, FOR, decision=SourcedClaim(text="word " * 80 + "end."))
    assert build_memo(long, "en").what == "the text stands below."
    assert summarize_decision(long).what.startswith("word word ")
    changes = ByReview(
        outcome="changes", reviewers=3, readers=3, faults=2, place="a.py:1", claim="x"
    )
    reviewed = decide(changes, FOR, FOR, FOR, choice="request changes")
    summary = summarize_decision(reviewed)
    assert (summary.badge, summary.what) == ("2 to mend", build_memo(reviewed, "en").result.text)


def test_a_notice_has_result_reservation_and_the_first_thing_to_do() -> None:
    """T-1, G-2: nothing else of the memo."""
    condition = Obligation(seat=CY, text="The disk is doubled.", due="2027-01-31")
    decision = decide(
        ByVotes(),
        FOR,
        FOR,
        IF,
        NO,
        obligations=(condition, replace(condition, seat=ADA, text="It is tested.")),
        dissent=(Dissent(seat=DEE, kind="oppose", text="It is too early."),),
        minds=1,
    )
    memo = build_memo(decision, "en")
    assert list_notice_lines(memo) == [
        "Decided by 3 of 4, Dee against: Keep it.",
        "All of them are the same model: they make the same mistakes.",
        "Cy's condition (by 31 January 2027, open): The disk is doubled.",
    ]
    bare = build_memo(decide(ByVotes(), FOR, FOR, FOR, minds=3), "zh")
    assert list_notice_lines(bare) == ["3 人一致同意：Keep it.", "无人附加条件。"]


LONG = "The second step makes the monthly closing somebody's work, and nobody here offers it. "
WORDS = st.sampled_from(
    [
        "",
        "Yes.",
        "Keep Postgres",
        "yes",
        LONG * 4,
        LONG * 60,
        "# Title\n\n- **one**, two; three\n- four" * 5,
        "word " * 400,
        "x" * 700,
        "第二步会让关账变成一个人的全职工作，这个人是谁，在座没人举手。" * 12,
        "没有标点的一长段话" * 60,
        "“Quoted,” he said… Then 3.5 % of e.g. nothing?!",
        "\x1b[31mred\u202e and\nlines\r\nof\ttabs",
        "🙂 emoji and à combining",
        "...",
        "? ! 。",
    ]
)
SAID = WORDS.filter(bool)
NAME = st.sampled_from([*NAMES, SeatId("a" * 64), SeatId("沈放"), USER])
VERDICT = st.sampled_from(["support", "conditional_support", "oppose", "abstain", None])
CLAIM = st.builds(
    SourcedClaim, text=WORDS, entries=st.sampled_from([(), (3,)]), seat=st.none() | NAME
)
SHARE = st.none() | st.floats(0, 1)
COUNT = st.integers(0, 9)
LEADING = st.builds(
    LeadingSide,
    text=SAID,
    supporters=st.lists(NAME, max_size=4).map(tuple),
    opponents=st.lists(NAME, max_size=4).map(tuple),
    unsure=st.lists(st.tuples(NAME, st.floats(0, 1)), max_size=4).map(tuple),
)
HOW: st.SearchStrategy[How | None] = st.one_of(
    st.none(),
    st.builds(ByVotes, tries=st.integers(1, 12), unasked=COUNT, silent_writer=st.none() | NAME),
    st.builds(ByOwner, owner=NAME, advisers=COUNT, advised=COUNT),
    st.builds(ByMinutes, open_points=COUNT),
    st.builds(
        ByMeasure,
        way=st.sampled_from(["vote", "readings", "synthesis"]),
        readers=COUNT,
        writer=NAME,
    ),
    st.builds(
        ByAnswer,
        outcome=st.sampled_from(["answered", "unknown", "refused", "failed"]),
        asked=NAME,
        asker=NAME,
        unsure_of=WORDS,
        ask_instead=NAME,
    ),
    st.builds(
        BySteps,
        outcome=st.sampled_from(["completed", "rejected", "failed"]),
        all=st.integers(1, 9),
        passed=COUNT,
        rejected=COUNT,
        seat=NAME,
    ),
    st.builds(
        ByReview,
        outcome=st.sampled_from(["approve", "changes", "tied", "few_readers", "unplaced"]),
        faults=COUNT,
        claim=WORDS,
    ),
    st.builds(ByAuthor, author=st.none() | NAME, backers=COUNT),
    st.builds(
        Undecided,
        reason=st.sampled_from(
            [
                "leader",
                "not_sure",
                "not_likely",
                "tie",
                "no_majority",
                "limit",
                "leads",
                "two_level",
            ]
        ),
        limit=st.sampled_from(["money", "time"]),
        needed=COUNT,
        threshold=SHARE,
        chance=SHARE,
    ),
)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    asked = tuple(dict.fromkeys(draw(st.lists(NAME, min_size=1, max_size=9))))
    positions = tuple(
        SeatPosition(
            seat=seat,
            verdict=draw(VERDICT),
            choice_before=draw(st.sampled_from(["", "keep"])),
            weight=draw(st.floats(0, 2)),
        )
        for seat in asked
    )
    obligations = draw(
        st.lists(
            st.builds(
                Obligation,
                seat=NAME,
                text=WORDS,
                due=st.sampled_from(["", "tomorrow", "2026-12-31", "when " * 60]),
                state=st.sampled_from(["open", "met", "waived", "failed"]),
            ),
            max_size=5,
        )
    )
    dissent = draw(
        st.lists(
            st.builds(
                Dissent,
                seat=st.none() | NAME,
                kind=st.sampled_from(["oppose", "reported", "challenge"]),
                text=WORDS,
            ),
            max_size=3,
        )
    )
    leading = tuple(draw(st.lists(LEADING, max_size=2)))
    return Decision(
        session=SessionId("s"),
        topic=draw(WORDS),
        status="concluded",
        language=draw(st.sampled_from(["en", "zh"])),
        decision=draw(st.none() | CLAIM),
        choice=draw(WORDS),
        author=draw(st.none() | NAME),
        how=draw(HOW),
        asked=asked,
        positions=positions,
        obligations=tuple(obligations),
        dissent=tuple(dissent),
        leaders=leading,
        tie_by="names" if len(leading) == 2 and draw(st.booleans()) else None,
        near=draw(st.none() | st.integers(1, 9)),
        support=draw(SHARE),
        turnout=draw(SHARE),
        confidence=draw(SHARE),
        can_turn_out=draw(st.booleans()),
        held_before=draw(st.none() | st.lists(st.sampled_from(asked), max_size=6).map(tuple)),
        backers_named=tuple(draw(st.lists(NAME, max_size=4))),
        voters=draw(COUNT),
        minds=draw(COUNT),
        overturned=draw(st.booleans()),
        outcome_uncertain=draw(st.booleans()),
        lost=tuple(lose(seat) for seat in draw(st.lists(NAME, max_size=3))),
        open_questions=tuple(draw(st.lists(CLAIM, max_size=2))),
        open_challenges=tuple(draw(st.lists(CLAIM, max_size=2))),
        answers=tuple(
            draw(
                st.lists(
                    st.builds(AnsweredInput, input=COUNT, asked=WORDS, answer=st.none() | WORDS),
                    max_size=3,
                )
            )
        ),
        faults=tuple(
            draw(
                st.lists(st.builds(QuotationFault, seat=NAME, place=WORDS, words=SAID), max_size=2)
            )
        ),
    )


@settings(max_examples=200, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(decision=decisions())
def test_whatever_was_decided_the_memo_fits_and_is_whole(decision: Decision) -> None:
    """T-1, T-3, T-5: at most twelve lines of a terminal, nothing empty, nothing twice, no sentence cut, the result first."""
    memo = check_memo(decision)
    for line in memo.all_lines:
        assert line.text.endswith(ENDS) or line.slot == "next", line
    assert list_forbidden_words(memo, ("a" * 64,)) == []


@given(text=WORDS, limit=st.integers(40, 300))
def test_sentences_are_kept_whole(text: str, limit: int) -> None:
    """T-5"""
    sentences = split_sentences(text)
    for kept in (keep_first(sentences, limit), keep_last(sentences, limit)):
        for each in kept:
            assert each in sentences or each.endswith("…")
            assert len(each) <= limit
    for each in sentences:
        assert len(shorten_sentence(each, limit)) <= limit


def test_what_does_not_fit_is_left_out_in_the_written_order() -> None:
    """T-1: never the result, the caution, one thing to do, or the point of the objection."""
    decision = decide(
        ByVotes(),
        FOR,
        IF,
        IF,
        IF,
        NO,
        decision=SourcedClaim(text=LONG * 3),
        choice="Keep it",
        minds=1,
        held_before=(ADA, BOB),
        obligations=tuple(
            Obligation(seat=seat, text=LONG, due="2026-12-31") for seat in (BOB, CY, DEE)
        ),
        dissent=(Dissent(seat=EVE, kind="oppose", text=LONG * 2),),
        open_questions=(SourcedClaim(text=LONG),),
    )
    memo = check_memo(decision)
    slots = [line.slot for line in memo.all_lines]
    assert slots[0] == "result"
    assert {"caution", "next", "against"} <= set(slots)
    assert count_terminal_lines(memo) <= 12


def test_a_program_builds_the_memo_of_a_decision_by_a_public_name() -> None:
    """T-1: the library has the memo that every other door gives."""
    assert moothall.build_memo is build_memo
