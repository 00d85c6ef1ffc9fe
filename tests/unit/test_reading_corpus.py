"""A corpus of answers in words, each with what a careful reader would say: none of them may be read as something else (M-14).

An answer that is not read is asked for again, which costs a call. `test_how_much_is_asked_again` holds that share.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.person import PersonChoice
from moothall.errors import BadAnswer
from moothall.features.persona.answer_table import infer_bid_field
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.answers import read_answer
from moothall.reading.choices import build_choices
from moothall.reading.field_values import read_share
from moothall.reading.stated import find_choice, find_stated_choice
from moothall_testkit.careless_model import CarelessModel

POSITIONS = build_choices(("support", "conditional_support", "oppose", "abstain"))
VERDICTS = build_choices(("confirmed", "refuted", "unclear"))
GATE = build_choices(("APPROVED", "REJECTED"))
NAMES = build_choices(("Postgres", "SQLite"))
ASKED = "asked"
"""A careful reader asks what is meant."""


@dataclass(frozen=True)
class Sample:
    """An answer in words."""

    text: str
    meant: str
    """What a careful reader takes it for."""
    choices: tuple[PersonChoice, ...] = POSITIONS


WORDS = {
    "support": ("support", "agree with", "approve", "endorse", "accept", "am in favour of"),
    "oppose": ("oppose", "reject", "object to", "disagree with", "am against", "vote against"),
}
HAN = {
    "support": ("支持", "赞成", "赞同", "同意", "贊成"),
    "oppose": ("反对", "反對", "不支持", "不赞成", "不同意"),
}
OTHER = {"support": "oppose", "oppose": "support"}

PLAIN = (
    "I {word} this.",
    "OK, I {word} this motion.",
    "Well, I {word} it.",
    "I strongly {word} the proposal, because it is cheap.",
)
PLAIN_HAN = ("我{word}。", "好的，我{word}这个动议。", "{word}，因为成本低。", "我明确{word}该提案")
# Negations, reversals and refusals in which the word is there and the vote is not.
TURNED = (
    "I do not {word} this.",
    "I can't {word} this.",
    "I would never {word} such a thing.",
    "Nobody should {word} this.",
    "I refuse to {word} it.",
    "I am unable to {word} it.",
    "I stop short of wanting to {word} it.",
    "I no longer {word} it.",
    "It would be a mistake to {word} this.",
    "Hardly anybody can {word} it.",
    "I used to {word} it.",
    "I find it impossible to {word} this",
)
TURNED_HAN = (
    "我无法{word}。",
    "没人会{word}",
    "{word}不了",
    "我拒绝{word}",
    "很难{word}",
    "我从未{word}过",
    "绝不{word}",
    "{word}是错误的",
)
# Others who speak, questions, jokes, things that are not the motion.
OF_OTHERS = (
    "Ada says: I {word} this.",
    "The others {word} it.",
    "Who would {word} this?",
    "They {word} it and they are wrong.",
    "I {word} this. Just kidding.",
    "If I were rich, I would {word} it.",
    "Some {word} it.",
    "I {word} the goal, the motion is another matter.",
    "I {word} dropping it.",
    "I {word} the idea of cancelling the project.",
    '"I {word} this" is what I would like to say.',
    "Do I {word} this?",
)
OF_OTHERS_HAN = (
    "他们{word}。",
    "谁会{word}？",
    "别人{word}，我不知道。",
    "我{word}取消这个提案",
    "开玩笑说，我{word}",
    "有人{word}",
    "{word}者错了",
)
BOTH_SIDES = (
    "I {word} the goal but {other} this motion.",
    "I {word} it, or rather I {other} it.",
    "I neither {word} nor {other} it.",
    "First I wanted to {word} it, now I {other} it.",
    "{word}? {other}? Hard to say.",
    "I {word} those who {other} it.",
)
BOTH_SIDES_HAN = (
    "我{word}目标，但{other}这个动议",
    "既不{word}也不{other}",
    "原本{word}，现在{other}",
    "我{word}{other}意见",
)
REFUSALS = (
    "I'm sorry, but I can't assist with that request.",
    "As an AI, I cannot take a position.",
    "I am not able to vote on this.",
    "抱歉，我无法回答这个问题。",
    "作为人工智能，我不能投票。",
)
ECHOES = (
    '{"position": "support" | "conditional_support" | "oppose" | "abstain"}',
    "support | conditional_support | oppose | abstain",
    "position",
    "…",
    "one of: support, oppose",
    "support/oppose/abstain",
)
FOREIGN = (
    "同意しない",
    "я поддерживаю",
    "je suis contre",
    "ich unterstütze das nicht",
    "찬성합니다",
    "Estoy a favor",
    "support nicht",
    "apoio não",
)
UNCLEAR = (
    "hm",
    "maybe",
    "let me think",
    "OK, let me pass.",
    "yes but no",
    "yes and no",
    "ok, whatever",
    "好吧",
    "随便",
    "no problem",
    "sure thing",
)
WHOLE = {
    "support": (
        "yes",
        "Yes.",
        "OK",
        "okay!",
        "aye",
        "support",
        "**Support**",
        "好的",
        "可以",
        "是的",
        "支持",
        "赞成。",
        "1",
    ),
    "oppose": ("no", "No.", "nay", "oppose", "OPPOSE!", "反对", "不同意", "against", "否", "3"),
    "abstain": ("abstain", "I abstain.", "弃权", "我棄權", "neutral", "中立", "4"),
    "conditional_support": ("conditional", "conditional_support", "有条件支持", "2"),
}
CONDITIONS = (
    "I support it if it ships by May.",
    "Yes, if the tests pass.",
    "If we get the budget, I support it.",
    "Support, as long as it is cheap.",
    "conditional support: with a test first",
    "支持，如果五月能上线",
    "如果预算够，我支持",
    "support, provided that nobody is harmed",
)
NOT_CONDITIONS = (
    "Against, unless the tests pass",
    "I oppose it if it is late",
    "If it is cheap, I oppose it",
    "support if cheap, otherwise not",
)
NAMED = {
    "Postgres": (
        "Postgres",
        "I choose Postgres.",
        "We should use Postgres",
        "我选 Postgres",
        "My choice is Postgres, because it scales.",
    ),
    ASKED: (
        *(
            "Ditch Postgres",
            "Postgres? No way.",
            "Postgres is a bad choice",
            "放弃 Postgres",
            "SQLite beats Postgres",
            "not Postgres",
        ),
        *(
            "anything but Postgres",
            "Postgres or SQLite",
            "Postgres over my dead body",
            "I would rather not use Postgres",
            "别用 Postgres",
        ),
        *(
            "Postgres, said Ada",
            "the case against Postgres",
            "Postgres lost me",
            "Stop using Postgres",
            "Postgres is dead",
        ),
    ),
}
VERDICT_WORDS = {
    "confirmed": ("confirmed", "true", "correct", "证实", "属实", "I confirm it."),
    "refuted": ("refuted", "false", "wrong", "证伪", "I refute this claim."),
    "unclear": ("unclear", "unknown", "不确定"),
    ASKED: (
        "Correct: this is false",
        "No, it's correct",
        "not confirmed",
        "hardly refuted",
        "confirmed? no",
        "wrong to say it is refuted",
    ),
}
GATES = {
    "APPROVED": ("APPROVED", "approved.", "通过", "OK, approved.", "I approve this."),
    "REJECTED": ("REJECTED", "OK, rejected.", "不通过", "I reject this work.", "驳回"),
    ASKED: (
        "I pass on approving this",
        "not approved yet? maybe",
        "approved by nobody",
        "cannot be approved",
        "未通过审批的部分",
    ),
}

# Irony, tags, others who are quoted, half a support, blame behind it, mixed languages, mistyped words: a careful reader asks.
HARD = """
I support this about as much as I support a hole in the head. ¦ Support? You must be dreaming.
Sure, I support it, the way a rope supports a hanged man. ¦ I am opposed to opposing this.
I can't say I don't oppose it. ¦ It's not that I oppose it.
I would be lying were I to say I agree. ¦ Count me out. ¦ Bob wrote 'oppose', and so do I not.
My colleague's verdict, oppose, is mistaken. ¦ I vote as Ada did: support.
Ada voted support; me too, the other way. ¦ I approve, said nobody ever. ¦ I agree with the critics.
I agree with Ada. ¦ I accept that we should reject it. ¦ I approve of the dissent.
I support Ada's objection. ¦ I endorse the opposite. ¦ I endorse the previous speaker's no.
I approve this after hell freezes over. ¦ I support this when pigs fly.
I'll support this the day it works. ¦ I support this once the audit is done.
I support it subject to the audit. ¦ I supprot this. ¦ I opose it. ¦ I dissaprove. ¦ disagre
I un-support this ¦ Unsupportive, sorry. ¦ I support this not. ¦ I support this - NOT!
I support this /s ¦ I support this 🙄 ¦ I support this (sarcasm) ¦ I support this in theory.
I support this in principle ¦ I would have supported it. ¦ I should support this.
I might support it ¦ I want to oppose it. ¦ I almost oppose it. ¦ I oppose nothing here.
I support nothing of this. ¦ I support half of it. ¦ I oppose any delay.
I oppose waiting any longer. ¦ I object, your honour, is what a lawyer would shout.
Oppose, then? Fine by me either way. ¦ yes, I mean no ¦ yes... oppose ¦ No, no, I support it.
No objections. ¦ No objection from me ¦ I have no reservations. ¦ I raise no objection. ¦ 我反对反对者
我不是不支持 ¦ 我不反对 ¦ 并非不同意 ¦ 谈不上支持 ¦ 支持个鬼
支持才怪呢 ¦ 我举双手双脚支持，除了双手双脚 ¦ 我倒是想支持 ¦ 本想支持来着 ¦ 支持的理由站不住脚
同意他的反對意見 ¦ 我贊成否決 ¦ 我贊成撤回此案 ¦ 贊成個頭 ¦ 恕難贊成 ¦ 恕不贊同
难道要我支持吗 ¦ 怎么可能支持 ¦ 岂能同意 ¦ 誰說我反對 ¦ 反对？不存在的。 ¦ 同意，个屁
勉强同意 ¦ 暂时支持 ¦ 原则上同意 ¦ 口头上支持
我同意 oppose ¦ I 支持 reject ¦ I 不 support this ¦ support 不了 ¦ 老板说支持就支持
随大流，支持 ¦ 支持吧，大家都这么说 ¦ 如果不是为了钱，我支持 ¦ 只有在预算翻倍时才支持 ¦ 除非预算翻倍，否则支持不了
I support it if and only if I am drunk, so no. ¦ Oppose unless fixed ¦ abstain? never.
I abstain from abstaining ¦ I abstain from supporting it. ¦ I abstain from opposing.
I am neutral on everything except this. ¦ 弃权不是我的风格 ¦ 我放弃弃权，反对
Vote: support (as my master orders; I think it's awful) ¦ position: support | oppose
support or oppose ¦ Please state support or oppose ¦ I'm afraid I must support the status quo.
I support the status quo. ¦ I support the current state. ¦ I support the alternative.
I support it less than before. ¦ I support this as little as Ada does. ¦ I support this too little.
I support this, my foot. ¦ I support this, yeah right. ¦ Yeah, right. ¦ Yeah right, support.
I support this as if. ¦ I agree to disagree. ¦ Agreed: we should reject. ¦ Agreed, it is terrible.
Approved by mistake ¦ I approve this message. ¦ I favor the other one.
I am in favour of the opposition. ¦ I am in favour of scrapping this motion.
I am against the ones against this motion. ¦ I vote no confidence. ¦ My vote is no longer support
My vote is support, was support, hereby ended. ¦ I am for it. Was. ¦ I supported it until today.
I object to nothing. ¦ I object! To what? Nothing. ¦ Strongly support the failure of this motion.
I support its failure. ¦ I support its rejection ¦ I support the rejection of this motion.
I fully agree that this is bad. ¦ I agree this motion is dangerous. ¦ I agree. This is dangerous.
I support this. It is dangerous and stupid. ¦ 我同意这是个坏主意 ¦ 同意，这是个坏主意 ¦ 赞成。太差了。 ¦ 我支持，太蠢了
"""
HARD_VERDICTS = """
It is true that this is false. ¦ Truly wrong ¦ Confirmed as refuted ¦ true enough to be false
I can confirm that Ada refuted it. ¦ I confirm the doubts ¦ I confirm this is a hoax.
correct me: wrong ¦ not untrue ¦ hardly wrong ¦ false alarm, all fine
The claim that it is false is false ¦ 非真 ¦ 并不属实 ¦ 属实才怪 ¦ 證偽失敗 ¦ 無法證實 ¦ 据说属实 ¦ Ada: confirmed
wrong question ¦ true? ¦ true, ish ¦ half true ¦ technically correct
unclear why anybody calls this unclear: it is true ¦ unconfirmed ¦ irrefutable ¦ I confirm nothing
正确地说，是错的 ¦ confirmed, unfortunately by nobody ¦ Confirmed! ...in your dreams
"""
HARD_GATES = """
Approved, pending fixes ¦ Approved once tests are added ¦ approve with changes ¦ LGTM
Looks good, reject ¦ Reject? No. ¦ I cannot reject this ¦ rejected? nah ¦ Not rejected
Approval denied ¦ approval withheld ¦ approved in error ¦ 批准个头 ¦ 無法通過 ¦ 通过不了 ¦ 勉強通過 ¦ 驳回驳回意见
Bob approved it ¦ APPROVED? ¦ APPROVED!!! just kidding ¦ The reviewer said APPROVED.
approved by my cat ¦ I approve of rejecting it ¦ This is the worst work I have ever APPROVED
REJECTED by others, not me ¦ would be approved ¦ to be approved ¦ approved = false ¦ APPROVED: no
approved: false ¦ Verdict: APPROVED or REJECTED ¦ APPROVED/REJECTED ¦ APPROVED. But broken.
APPROVED. It does not compile. ¦ APPROVED, it fails all tests ¦ APPROVED, all tests fail.
"""
HARD_NAMES = """
Postgres my foot ¦ Postgres was my choice once ¦ Use Postgres for what it hates ¦ Postgres > SQLite
SQLite < Postgres ¦ Postgres loses ¦ Postgres, never ¦ Never Postgres ¦ Go with Postgres' rival
the opposite of Postgres ¦ Kill Postgres ¦ replace Postgres ¦ leave Postgres ¦ migrate off Postgres
Postgres-free ¦ non-Postgres ¦ 除了Postgres ¦ 淘汰 Postgres ¦ 換掉 Postgres ¦ 选Postgres的人疯了 ¦ Postgres 不行
谁选 Postgres 谁傻 ¦ Postgres is what Ada wants ¦ Ada's Postgres ¦ not SQLite ¦ Anything except SQLite
I pick Postgres over nothing ¦ Postgres instead of SQLite ¦ I choose to drop Postgres
I choose not Postgres ¦ Postgres sucks ¦ Postgres is the worst ¦ I would pick Postgres last
Postgres last ¦ Postgres second ¦ I pick the one that is not Postgres ¦ Postgres? Postgres!
Skip Postgres ¦ Say no to Postgres ¦ We use Postgres now, sadly ¦ We should leave Postgres behind
use Postgres no more ¦ I recommend Postgres to my enemies ¦ Postgres to my enemies ¦ 去掉 Postgres
别的，不是 Postgres ¦ SQLite it is not ¦ It is SQLite not ¦ Postgres, not
"""
HARD_ANSWERS = """
no doubt ¦ no, not no ¦ yes-men say so ¦ yes, never ¦ oh yes, a catastrophe ¦ no way around it: yes
no question ¦ no problem ¦ Without a doubt ¦ yes? no. ¦ 不是不行 ¦ 没有不可以 ¦ 是不是呢 ¦ 是个问题 ¦ 好不了 ¦ yes to no
no less ¦ Not no. ¦ yes, because no ¦ Yes, if hell freezes over ¦ no one knows
yes, it should never happen ¦ No. It would be a mistake not to. ¦ No, we should. ¦ 是的，不应该 ¦ 不，应该
"""


def split_block(block: str) -> list[str]:
    return [each.strip() for line in block.strip().splitlines() for each in line.split("¦")]


def build_corpus() -> Iterator[Sample]:
    for side, other in OTHER.items():
        for words, plain, turned, others, both in (
            (WORDS, PLAIN, TURNED, OF_OTHERS, BOTH_SIDES),
            (HAN, PLAIN_HAN, TURNED_HAN, OF_OTHERS_HAN, BOTH_SIDES_HAN),
        ):
            for word, form in product(words[side], plain):
                yield Sample(form.format(word=word), side)
            for word, form in product(words[side], (*turned, *others)):
                yield Sample(form.format(word=word), ASKED)
            for (word, second), form in product(zip(words[side], words[other], strict=False), both):
                yield Sample(form.format(word=word, other=second), ASKED)
    for text in (*REFUSALS, *ECHOES, *FOREIGN, *UNCLEAR, *NOT_CONDITIONS):
        yield Sample(text, ASKED)
    for table, choices in (
        (WHOLE, POSITIONS),
        (NAMED, NAMES),
        (VERDICT_WORDS, VERDICTS),
        (GATES, GATE),
    ):
        for meant, texts in table.items():
            yield from (Sample(text, meant, choices) for text in texts)
    yield from (Sample(text, "conditional_support") for text in CONDITIONS)
    for block, choices in (
        (HARD, POSITIONS),
        (HARD_VERDICTS, VERDICTS),
        (HARD_GATES, GATE),
        (HARD_NAMES, NAMES),
        (HARD_ANSWERS, build_choices(("yes", "no"))),
    ):
        yield from (Sample(text, ASKED, choices) for text in split_block(block))


CORPUS = tuple({(sample.text, sample.choices): sample for sample in build_corpus()}.values())
# Written to break the rule: tags, retractions, amounts, conditions in disguise, boxes, thumbs, other things supported.
FOLDER = Path(__file__).parent
OFFERED = {"position": POSITIONS, "gate": GATE, "option": NAMES, "verdict": VERDICTS}
HOSTILE = tuple(
    Sample(text.replace("\\n", "\n"), meant, OFFERED[offered])
    for offered, meant, text in (
        line.split("\t") for line in (FOLDER / "reading_corpus.tsv").read_text("utf-8").splitlines()
    )
)


def read(sample: Sample) -> str:
    result = find_choice(sample.text, sample.choices)
    return ASKED if result is None else result.value


AT_THEIR_WORD = {
    "Correct: this is false": "confirmed",
    "yes, because no": "yes",
    "「支持」": "support",
    "不属实": "refuted",
}
"""What is taken at its word: a label with a reason that says little, marks alone, and a word that the vocabulary has."""


def test_no_answer_is_read_as_something_else() -> None:
    """M-14, Q-5: a wrong reading is worse than a question."""
    assert len(CORPUS) >= 600
    wrong = {}
    for sample in (*CORPUS, *HOSTILE):
        result = read(sample)
        if result not in {sample.meant, ASKED}:
            wrong[sample.text] = result
    assert wrong == AT_THEIR_WORD


def test_how_much_is_asked_again() -> None:
    """M-2: a vote that is plain is counted; at most one in six of these hostile ones is asked about in one line."""
    plain = [sample for sample in (*CORPUS, *HOSTILE) if sample.meant != ASKED]
    again = [sample.text for sample in plain if read(sample) == ASKED]
    print(f"{len(again)} of {len(plain)} plain answers are asked for again: {again}")
    assert len(again) <= len(plain) / 6


async def collect_vote_brief(*options: str) -> Brief:
    briefs: list[Brief] = []

    class Listening(CarelessModel):
        async def __call__(self, brief: Brief) -> Answer | NoAnswer:
            briefs.extend([brief] if brief.ask.kind == "vote" else [])
            return await super().__call__(brief)

    async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
        seats = {name: Listening(1, rate=0) for name in "abc"}
        await moot.hold(
            "Cache at the edge?", protocol="consensus", seats=seats, options=options, seed=1
        )
    return briefs[0]


@pytest.mark.parametrize(
    ("file", "options"), [("answers", ()), ("choices", ("Redis", "Memcached", "No cache"))]
)
def test_no_whole_answer_is_read_as_something_else(file: str, options: tuple[str, ...]) -> None:
    """M-14: JSON of all shapes, thoughts, examples, drafts, tables, labels against their text; the plain ones are read."""
    brief = asyncio.run(collect_vote_brief(*options))
    answers = [
        json.loads(line)
        for line in (FOLDER / f"reading_{file}.jsonl").read_text("utf-8").splitlines()
    ]

    def read_vote(raw: str) -> object:
        try:
            said: object = read_answer(brief, raw).said
        except BadAnswer:
            return ASKED
        # An approval of the motion names none of the options.
        return getattr(said, "choice", "") or getattr(said, "position", ASKED)

    wrong = [
        (raw, meant, result)
        for meant, _, raw in answers
        if (result := read_vote(raw)) not in {meant, ASKED}
    ]
    assert wrong == []
    assert [raw for _, is_plain, raw in answers if is_plain and read_vote(raw) == ASKED] == []


PARTS = st.sampled_from(
    [
        "I",
        "we",
        "this",
        "motion",
        "the cost",
        ",",
        ".",
        "ok",
        "yes",
        "strongly",
        "我",
        "这个动议",
        "，",
        "。",
    ]
)
SIDES = (
    st.sampled_from([*WORDS["support"][:5], *HAN["support"]]),
    st.sampled_from([*WORDS["oppose"][:4], *HAN["oppose"], "abstain", "弃权"]),
)


@given(st.lists(PARTS, max_size=8), *SIDES, st.randoms(use_true_random=False))
def test_words_of_two_sides_are_never_read_as_one(
    parts: list[str], first: str, second: str, random: Random
) -> None:
    """M-14"""
    words = [*parts, first, second]
    random.shuffle(words)
    assert find_stated_choice(" ".join(words), POSITIONS) is None


@pytest.mark.parametrize(
    "sample",
    [each for each in CORPUS if each.meant in WORDS and each.choices is POSITIONS],
    ids=lambda each: each.text,
)
def test_a_denial_never_leaves_a_reading_as_it_was(sample: Sample) -> None:
    """M-14: wherever "not", "un-", "不" or a word of the other side comes in; a reason may deny what it likes (Q-5)."""
    before = find_stated_choice(sample.text, POSITIONS)
    choice = re.split(", because|，因为", sample.text)[0]
    places = [at for at in range(len(choice) + 1) if before is not None]
    for at, word in product(
        places, (" not ", " un-", "不", "反对" if sample.meant == "support" else "支持")
    ):
        text = sample.text[:at] + word + sample.text[at:]
        assert find_stated_choice(text, POSITIONS) != before, text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "50/50",
            "less than 20 %",
            "8",
            "at most 0.9",
            "not 80%",
            "80% unsure",
            "between 0.2 and 0.4",
            "over 90%",
        ),
        *(
            "1,000",
            "1 - 0.8",
            "<20%",
            "0.8 ± 0.1",
            "80%+",
            "8/10/2026",
            "1/0",
            "80 of 100 people",
            "80% unlikely",
            "不到八成",
        ),
        *(
            "80 % sure it fails",
            "0.8 against",
            "minus 80%",
            "100% not",
            "80-90%",
            "80%?",
            "sure?",
            "low, if at all",
            "不到80%",
        ),
        *(
            "八成不",
            "80%不同意",
            "至少50%",
            "sure not",
            "certainly not",
            "I am 90% certain that it is wrong",
            "不太确定",
        ),
    ],
)
def test_a_share_that_is_not_the_whole_answer_is_not_read(text: str) -> None:
    """M-14"""
    assert read_share(text, 0, 1) is None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "I need to say nothing",
            "我不需要补充",
            "我不希望发言",
            "The floor is wet",
            "I do not need to add anything",
        ),
        *(
            "我想说的都说了",
            "我要发言才怪",
            "Do I want to speak?",
            "Let somebody else have the floor",
            "I want Bob to speak",
        ),
        *(
            "I have said all I want to say",
            "I want to speak only if asked",
            "I would rather listen than speak",
        ),
        *(
            "Bob wants to speak",
            "I might want to speak",
            "I want to speak later",
            "谁想发言",
            "他想发言",
            "我本想发言",
        ),
    ],
)
def test_a_bid_is_not_read_across_a_denial(text: str) -> None:
    """M-14"""
    assert infer_bid_field("intent_to_speak", {"": text}) is not True
