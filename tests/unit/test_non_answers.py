"""What looks like an answer and is not one is asked for again, and then lost: apologies (M-14), and echoes (M-13)."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import SeatId, ask_id
from moothall.domain.roster import Seat
from moothall.errors import AnswerRefused, BadAnswer
from moothall.features.persona.facts import MeetingOpened, PersonaSettings
from moothall.features.persona.rules import RULES
from moothall.reading.answers import read_answer
from moothall.reading.non_answers import MAX_APOLOGY_LENGTH, check_sides, is_refusal
from moothall.reading.schemas import build_user_prompt

ADA = Seat(id=SeatId("ada"), platform="stub")
SORRY = "I'm sorry, but I can't assist with that request."
REFUSALS = (
    "I'm sorry, but I can't assist with that request.",
    "I’m sorry, but I can’t assist with that.",
    "I cannot help with that.",
    "I can't help with this request.",
    "Sorry, I can't do that.",
    "Sorry, I cannot.",
    "I'm sorry. I can't.",
    "I apologize, but I'm not able to provide an opinion on this topic.",
    "As an AI language model, I don't have personal opinions.",
    "As an AI, I cannot take a position on this.",
    "I must respectfully decline to answer.",
    "I won't be able to participate in this.",
    "I'm unable to fulfill this request.",
    "I am not comfortable with answering this.",
    "This request violates my guidelines.",
    "This goes against our content policy.",
    "I'm not able to vote.",
    "Unfortunately, I can't comply.",
    "I decline to answer.",
    "I refuse to answer.",
    "No comment.",
    "I'd rather not say.",
    "It would be inappropriate for me to take sides.",
    "My guidelines prevent me from answering.",
    "I am an AI assistant and I cannot vote.",
    "I'm just an AI and do not have opinions.",
    "I'm really sorry, but I cannot help you with that. Please reach out to a professional.",
    "I am sorry, I am unable to help you with that.",
    "I'm sorry, but as an AI language model, I cannot provide an answer to that question.",
    "Thank you for asking, but I can't provide an answer to that.",
    "While I understand the question, I cannot give an opinion.",
    "I'm afraid I can't help with that.",
    "I do not feel comfortable answering this.",
    "My apologies, I can't discuss this topic.",
    "I will not engage with this request.",
    "I can't continue with this conversation.",
    "**I'm sorry, but I can't help with that.**",
    "抱歉，我无法协助完成该请求。",
    "很抱歉，我不能回答这个问题。",
    "对不起，我无法提供帮助。",
    "作为AI语言模型，我没有个人观点。",
    "作为一个人工智能助手，我无法表达立场。",
    "我无法回答这个问题。",
    "我拒绝回答。",
    "恕我不能回答。",
    "恕难从命。",
    "这个问题我不方便回答。",
    "抱歉，我不能参与这个讨论。",
    "你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。",
    "抱歉，我無法協助您完成這項請求。",
    "對不起，我不能。",
    "该请求违反了内容政策。",
    "我不能协助处理这个请求。",
    "非常抱歉，这超出了我的能力范围，我无法回答。",
    "无可奉告",
    "I am not able to vote on this.",
    "作为人工智能，我不能投票。",
)
# They begin like a refusal and take a side, or say what cannot be known.
ANSWERS = (
    "I'm sorry, but I cannot support this motion.",
    "Sorry, I oppose this.",
    "I can't help but agree.",
    "I cannot agree with this.",
    "I can't accept the risk.",
    "Unfortunately, the plan cannot work without tests.",
    "Unfortunately we can't provide support around the clock, so buy it.",
    "I don't know.",
    "I have no opinion.",
    "I abstain.",
    "I pass.",
    "As an AI system cannot hold opinions, the board must decide.",
    "As an engineer, I cannot recommend this.",
    "I will not vote for this motion.",
    "I refuse to support this.",
    "I can't see how this would help users.",
    "I'm afraid this will cost more than we have.",
    "We cannot help everyone; the plan must choose.",
    "I cannot make the numbers work: SQLite.",
    "Sorry to be blunt: the migration will fail.",
    "抱歉，我反对这个动议。",
    "抱歉，我不能支持这个方案。",
    "我不能接受这个风险。",
    "对不起，我不同意。",
    "我拒绝这个提案。",
    "作为工程师，我不能推荐它。",
    "无法保证交付时间，所以反对。",
    "我们无法提供二十四小时服务，应当外购。",
    "作为安全负责人，我认为必须先测试。",
    "As an AI project, this cannot have a hard deadline.",
    "I apologise for the length: three reasons follow. First, cost.",
    "I am unable to judge the cost; on safety I support it.",
    "We should decline to answer such requests by law.",
    "I decline the motion.",
    "I cannot say yes or no to a word. It depends on the licence.",
    "Our policy violates the rules",
)


OPENED = MeetingOpened(
    topic="Shall we build the bridge?",
    language="en",
    seed=7,
    seats=(ADA, replace(ADA, id=SeatId("bob"))),
    settings=PersonaSettings(blind=False),
)


def build_brief(kind: str) -> Brief:
    ask = Ask(id=ask_id(1, kind, ADA.id), seat=ADA.id, kind=kind, turn=1, patience=10)
    return RULES.brief(RULES.initial(OPENED), ask)


@pytest.mark.parametrize("text", REFUSALS)
def test_an_apology_that_declines_is_a_refusal(text: str) -> None:
    """M-14"""
    assert is_refusal(text)
    assert is_refusal(f"**{text}**\n")


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_that_begins_like_a_refusal_is_an_answer(text: str) -> None:
    """M-2: what takes a side is not an apology."""
    assert not is_refusal(text)


def test_a_long_text_says_something_beside_its_apology() -> None:
    """M-2"""
    assert not is_refusal(
        f"{SORRY} {'But the bridge needs two piers. ' * (MAX_APOLOGY_LENGTH // 20)}"
    )


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("position", SORRY),
        ("position", f"<think>May I?</think>{SORRY}"),
        ("position", {"position": SORRY, "confidence": 0.9}),
        ("position", f'{{"refusal": "{SORRY}"}}'),
        ("intent", SORRY),
        ("intent", {"reaction_score": 0.9, "intent_to_speak": True, "reason": SORRY}),
        ("intent", {"error": SORRY}),
        ("speech", SORRY),
        ("speech", "re #1 agree: 抱歉，我无法协助完成该请求。"),
        ("draft", SORRY),
        ("draft", {"decision": {"text": SORRY, "entries": [1]}, "confidence": 1.0}),
        ("stand", {"verdict": SORRY}),
    ],
)
def test_an_apology_is_never_an_answer(kind: str, raw: Any) -> None:
    """M-14: not as the whole answer, and not as one of its texts."""
    for is_strict in (False, True):
        with pytest.raises(AnswerRefused, match="declines to answer"):
            read_answer(build_brief(kind), raw, is_strict=is_strict)


def list_forms() -> list[str]:
    asks = [replace(build_brief("stand"), seed=seed) for seed in range(20)]
    forms: list[str] = []
    for ask in asks:
        brief = RULES.brief(RULES.initial(replace(OPENED, seed=ask.seed)), ask.ask)
        forms += [line for line in brief.own.splitlines() if line.startswith("verdict: ")]
    return forms


def test_no_choice_stands_first_in_every_form() -> None:
    """M-13"""
    firsts = {form.split("verdict: ")[1].split(",")[0] for form in list_forms()}
    assert firsts == {"support", "conditional", "oppose", "abstain"}


def test_the_form_has_nothing_to_copy() -> None:
    """M-13: what a model may copy from the form is not JSON."""
    form = build_user_prompt(build_brief("position")).splitlines()[-1]
    assert form == "Answer with one JSON object: position, choice, confidence."


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("position", {"position": "one or two sentences", "confidence": 0.5}),
        ("position", {"position": "…", "confidence": 0.5}),
        ("position", {"position": "position", "confidence": 0.5}),
        ("position", {"position": "confidence", "confidence": 0.5}),
        ("position", {"position": "Shall we build the bridge?"}),
        (
            "position",
            "Nobody has spoken yet. Where do you stand, and how sure are you?",
        ),
        ("speech", "Several minds work on one question; you are one of them."),
        ("speech", "..."),
        ("speech", "{}"),
        ("speech", "null"),
        ("draft", {"decision": {"text": "string"}, "confidence": 0.5}),
        ("draft", "The talk is over. Write its conclusion for all."),
        ("stand", {"verdict": "conditional", "condition": "what must hold"}),
        ("stand", {"verdict": "conditional", "condition": "what must hold, if conditional"}),
    ],
)
def test_an_echo_is_not_an_answer(kind: str, raw: Any) -> None:
    """M-13: a hint, dots, a field's name, the question, a line of the prompt."""
    with pytest.raises(BadAnswer, match="repeated"):
        read_answer(build_brief(kind), raw)


@pytest.mark.parametrize("kind", ["position", "intent", "speech", "draft", "stand"])
def test_the_whole_prompt_and_its_form_are_not_answers(kind: str) -> None:
    """M-13: a form that is copied is never a vote for what stands first in it."""
    prompt = build_user_prompt(build_brief(kind))
    for echo in (prompt, prompt.splitlines()[-1]):
        with pytest.raises(BadAnswer):
            read_answer(build_brief(kind), echo)


def test_what_others_said_may_be_said_again() -> None:
    """M-2: the own stance and instructions, and a quotation, are words of the meeting."""
    ada = replace(
        ADA, stance="Two piers carry more than one.", instructions="Count the costs of each pier."
    )
    brief = replace(
        build_brief("position"),
        seat=ada,
        own="Your stance: Two piers carry more than one.\n| A pier costs a million.",
    )
    for text in (
        "Two piers carry more than one.",
        "Count the costs of each pier.",
        "A pier costs a million.",
    ):
        assert read_answer(brief, {"position": text, "confidence": 0.5})


STAND = '{"verdict": "oppose", "confidence": 0.9}'
FINAL = '{"verdict": "support", "confidence": 0.8}'


@pytest.mark.parametrize(
    "raw",
    [
        f"First idea: {STAND}\nMy final answer: {FINAL}",
        f"```json\n{STAND}\n```\nOn reflection:\n```json\n{FINAL}\n```",
        f"<reasoning>{STAND}</reasoning>{FINAL}",
        f"<think>{STAND}</think>{FINAL}",
        f"<|channel|>analysis<|message|>{STAND}<|end|><|start|>assistant<|channel|>final<|message|>{FINAL}<|return|>",
        f'[{{"node_id": "bob", "verdict": "oppose"}}, {{"node_id": "ada", {FINAL[1:]}]',
        f'{{"bob": {STAND}, "ada": {FINAL}}}',
        '"{\\"verdict\\": \\"support\\", \\"confidence\\": 0.8}"',
        f'{{"answer": {FINAL}}}',
        '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "stand", "arguments": '
        '"{\\"verdict\\": \\"support\\", \\"confidence\\": 0.8}"}}]}',
        "<answer><verdict>support</verdict><confidence>0.8</confidence></answer>",
        "| verdict | support |\n|---|---|\n| confidence | 0.8 |",
        "| field | verdict | confidence |\n|---|---|---|\n| value | support | 0.8 |",
    ],
)
def test_the_answer_is_taken_out_of_what_is_round_it(raw: str) -> None:
    """M-2, M-14: the last complete object counts; drafts, thoughts and other seats' items do not."""
    said: Any = read_answer(build_brief("stand"), raw).said
    assert (said.verdict, said.confidence) == ("support", 0.8)


def test_a_list_for_other_seats_is_asked_for_again() -> None:
    """M-14"""
    with pytest.raises(BadAnswer, match="ada is not one of them"):
        read_answer(
            build_brief("stand"),
            '[{"node_id": "bob", "verdict": "oppose"}, {"node_id": "eve", "verdict": "support"}]',
        )


@dataclass(frozen=True, slots=True)
class Vote:
    position: str
    text: str = ""
    condition: str = ""


@pytest.mark.parametrize(
    ("position", "text"),
    [
        ("support", "Too risky. I am against it."),
        ("support", "I oppose this. Nobody has tested it."),
        ("oppose", "I support this motion."),
        ("oppose", "OK, I support it. It is cheap."),
        ("conditional_support", "I oppose this."),
        ("abstain", "I reject this proposal."),
        ("support", "I support it if the tests pass."),
        ("support", "我反对。"),
        ("oppose", "我支持该提案。"),
        ("challenge", "I agree."),
        ("APPROVED", "I reject this."),
        ("REJECTED", "I approve this work."),
    ],
)
def test_a_text_that_takes_another_side_than_its_label_is_asked_which(
    position: str, text: str
) -> None:
    """M-14: where words and label disagree, the seat is asked which of the two it means."""
    with pytest.raises(BadAnswer, match="which of the two is meant"):
        check_sides(Vote(position, text))
    with pytest.raises(BadAnswer, match="which of the two is meant"):
        check_sides((Vote("support"), Vote(position, text)))


@pytest.mark.parametrize(
    ("position", "text"),
    [
        ("support", "I support this. It is not perfect, but nobody has a better one."),
        ("oppose", "I oppose this."),
        ("oppose", "Half a person is missing. Put it into the budget, then I support it."),
        ("oppose", "方案里少算了半个人。写进预算，我就改投赞成。"),
        ("conditional_support", "I support it. The tests must pass first."),
        ("conditional_support", "I support it if the tests pass."),
        ("support", "Those who oppose it are wrong."),
        ("oppose", "Others say that they support it; I do not."),
        ("abstain", "I know too little."),
        ("support", ""),
        ("extend", "I oppose this."),
    ],
)
def test_a_text_that_does_not_contradict_its_label_counts(position: str, text: str) -> None:
    check_sides(Vote(position, text, condition="I oppose it otherwise."))


@dataclass(frozen=True)
class Chosen:
    choice: str
    text: str = ""


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("redis", "I choose postgres."),
        ("Redis", "Postgres."),
        ("redis", "Too slow. I vote for postgres."),
        ("redis", "Not redis."),
        ("redis", "I am against redis."),
        ("redis", "I do not choose redis."),
        ("redis", "我反对redis"),
        ("redis", "我选择 postgres"),
        ("abstain", "I choose postgres."),
    ],
)
def test_a_text_that_names_another_option_than_its_choice_is_asked_which(
    choice: str, text: str
) -> None:
    """M-14: an option is a label like any other."""
    with pytest.raises(BadAnswer, match="which of the two is meant"):
        check_sides(Chosen(choice, text), options=("redis", "postgres"))


@pytest.mark.parametrize(
    "text",
    [
        "Redis.",
        "I choose redis, not postgres.",
        "Not postgres.",
        "I am against postgres. It loses nothing, but we cannot run it.",
        "Redis beats postgres.",
        "Postgres: slow. Redis: fast.",
        "Postgres is fine, too.",
        "No cache is needed for now.",
    ],
)
def test_a_text_that_speaks_of_other_options_does_not_contradict_its_choice(text: str) -> None:
    check_sides(Chosen("redis", text), options=("redis", "postgres"))


def test_a_shorter_name_of_the_chosen_option_does_not_contradict_it() -> None:
    check_sides(
        Chosen("Postgres, later", "Postgres."), options=("Postgres", "Postgres, later", "SQLite")
    )
    with pytest.raises(BadAnswer, match="which of the two is meant"):
        check_sides(
            Chosen("Postgres, later", "SQLite."), options=("Postgres", "Postgres, later", "SQLite")
        )
