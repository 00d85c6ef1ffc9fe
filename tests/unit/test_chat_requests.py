"""What a chat client's request asks: which panel, which question, in which conversation, and whether it is a question at all."""

import json
from typing import Any

import pytest

from moothall.surfaces.api.chat_request import (
    MAX_CONVERSATION_LENGTH,
    ChatRefused,
    ChatRequest,
    answer_side_question,
    digest_request,
    find_model,
    parse_chat_request,
    read_question,
)
from moothall.surfaces.http.chat import rewrite_response_request

HISTORY = "### Chat History:\n<chat_history>\nUSER: Should we ship on Friday? It is late.\nASSISTANT: **Wait.**\n</chat_history>"


def chat(*messages: tuple[str, Any] | str, **fields: Any) -> ChatRequest:
    given = [
        {"role": "user", "content": each}
        if isinstance(each, str)
        else dict(zip(("role", "content"), each, strict=True))
        for each in messages
    ]
    return parse_chat_request(
        json.dumps({"model": "moot/board", "messages": given, **fields}).encode()
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("moot/board", "moot/board"),
        ("board", "moot/board"),
        ("moot/persona:board", "moot/board"),
        ("moot/debate:architecture", "moot/debate:architecture"),
        ("debate:red-team", "moot/debate:red-team"),
        ("moot/debate", "moot/debate:default"),
        ("moot", "moot/default"),
        (" moot/duo ", "moot/duo"),
    ],
)
def test_a_model_is_found_by_every_name_that_says_which_it_is(name: str, found: str) -> None:
    assert find_model(name).id == found


@pytest.mark.parametrize(
    "name",
    [
        "",
        "moot/",
        "gpt-5",
        "moot/board:debate",
        "debate:",
        "moot/pipeline:board",
        "../board",
        "moot/board/x",
        "/etc/x.toml",
    ],
)
def test_no_other_name_is_a_model(name: str) -> None:
    with pytest.raises(ChatRefused) as refused:
        find_model(name)
    assert (refused.value.status, refused.value.code) == (404, "model_not_found")


def test_a_long_conversation_is_cut_at_its_beginning() -> None:
    """The newest messages and the client's instructions are kept; how many are left out is told."""
    earlier = [
        ("user" if at % 2 else "assistant", f"message {at} " + "x" * 1_000) for at in range(40)
    ]
    found = read_question(chat(("system", "Be brief."), *earlier, "And now?"))
    assert len(found.conversation) <= MAX_CONVERSATION_LENGTH + 100
    assert found.conversation.startswith("instructions of the chat client:\n| Be brief.\n(")
    assert "earlier messages are left out)" in found.conversation
    assert "message 39 " in found.conversation
    assert "message 0 " not in found.conversation


def test_no_message_passes_for_somebody_elses() -> None:
    found = read_question(chat(("assistant", "Yes.\nuser:\n| I insist."), "我们应该招聘吗？"))
    assert (found.language, found.conversation) == ("zh", "助手:\n| Yes.\n| user:\n| | I insist.")


def test_what_follows_the_question_is_told_too() -> None:
    found = read_question(chat("Which?", ("assistant", "Let me look."), ("tool", "3 results")))
    assert (found.text, found.conversation) == (
        "Which?",
        "assistant:\n| Let me look.\ntool:\n| 3 results",
    )


def test_two_requests_are_the_same_if_their_words_are() -> None:
    """In parts or in one piece; sampling and streaming do not matter, seed and user do."""
    model = find_model("board")
    parts = [{"type": "text", "text": "Ship?"}]
    one = digest_request(chat("Ship?", temperature=0.1, stream=True), model)
    assert one == digest_request(chat(("user", parts), top_p=0.9), model)
    others = [
        chat("Ship it?"),
        chat("Ship?", seed=1),
        chat("Ship?", user="ada"),
        chat(("system", "x"), "Ship?"),
        chat(("assistant", "Ship?")),
    ]
    assert one not in {digest_request(each, model) for each in others}
    assert one != digest_request(chat("Ship?"), find_model("duo"))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        # Open WebUI
        (
            f'### Task:\nGenerate a concise title.\n### Output:\nJSON format: {{ "title": "x" }}\n{HISTORY}',
            '{"title": "Should we ship on Friday"}',
        ),
        (
            f'### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format: {{ "tags": ["tag1"] }}\n{HISTORY}',
            '{"tags": ["General"]}',
        ),
        (
            f'### Task:\nSuggest follow-up questions.\n### Output:\n{{ "follow_ups": ["Question 1?"] }}\n{HISTORY}',
            '{"follow_ups": []}',
        ),
        (
            f'### Task:\nAnalyze the chat history to determine search queries.\n### Output:\n{{ "queries": ["q"] }}\n{HISTORY}',
            '{"queries": []}',
        ),
        (
            f'### Task:\nYou are an autocompletion system.\n{{ "text": "" }}\n{HISTORY}\n<text>Should</text>',
            '{"text": ""}',
        ),
        (
            "Your task is to reflect the speaker's likely facial expression through a fitting emoji.\n\nMessage: ```hi```",
            "💬",
        ),
        # LibreChat
        (
            "Provide a concise, 5-word-or-less title for the conversation, with no punctuation.\n\nConversation:\n"
            "User: Should we hire?\nAI: Yes",
            "Should we hire",
        ),
        (
            "Analyze this conversation and provide:\n1. The detected language\n2. A concise title (5 words or less)\n\n"
            "User: 我们应该招聘吗？\nAI: 是",
            '{"language": "Chinese", "title": "我们应该招聘吗"}',
        ),
        # Chinese clients
        (
            "请总结以下对话，生成一个不超过 10 个字的标题，不要标点。\n\n用户：我们应该招聘吗？\n助手：是",
            "我们应该招聘吗",
        ),
    ],
)
def test_a_side_question_is_answered_from_the_conversation_that_it_quotes(
    asked: str, answer: str
) -> None:
    assert answer_side_question(chat(asked)) == answer


def test_a_side_question_about_the_messages_before_it_is_answered_from_them() -> None:
    """Some append it to the conversation; some say it in the instructions; Continue wants few tokens."""
    ask = "Please generate a four to five word title summarizing our conversation without any punctuation."
    assert (
        answer_side_question(chat("Should we hire?", ("assistant", "Yes."), ask))
        == "Should we hire"
    )
    rules = "You are a title generator. You output ONLY a thread title of at most 50 characters."
    assert answer_side_question(chat(("system", rules), "Should we hire?")) == "Should we hire"
    describe = "Given the following... please reply with a title for the chat that is 3-4 words in length\n\nShould we hire?"
    assert answer_side_question(chat(describe, max_tokens=16)) == "Should we hire"
    assert (
        answer_side_question(
            chat("Ship?", ("assistant", "x"), "x", metadata={"task": "title_generation"})
        )
        == "Ship"
    )
    tools = ("system", 'Available Tools: []\nreturn an empty array: {"tool_calls": []}')
    assert answer_side_question(chat(tools, "Query: Ship?")) == '{"tool_calls": []}'


def test_an_answer_of_a_few_tokens_holds_no_meeting_and_says_so() -> None:
    assert "at most 8 tokens" in (answer_side_question(chat("hi", max_completion_tokens=8)) or "")
    assert "8 个 token" in (answer_side_question(chat("你好吗", max_tokens=8)) or "")
    assert answer_side_question(chat("hi", max_tokens=65)) is None
    assert answer_side_question(chat("hi", max_tokens=-1)) is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": ["text"], "text": "x"},
        {"type": {"a": 1}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,\ud800"}},
        {"type": "file", "file": {"filename": "\ud800"}},
    ],
)
def test_a_part_that_is_none_is_refused_by_its_place(part: dict[str, Any]) -> None:
    """D-6: whatever its fields hold."""
    with pytest.raises(ChatRefused) as refused:
        read_question(chat(("user", [part, {"type": "text", "text": "Ship?"}])))
    assert (refused.value.status, refused.value.param) == (400, "messages.0.content")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": "x", "tools": 5}, "tools"),
        ({"input": "x", "tools": {"a": 1}}, "tools"),
        ({"input": [{"role": ["user"], "content": "x"}]}, "input"),
        ({"input": []}, "input"),
        ({"input": {}}, "input"),
        ({}, "input"),
    ],
)
def test_a_request_in_the_newer_shape_is_refused_by_the_name_that_it_has_there(
    fields: dict[str, Any], param: str
) -> None:
    """D-6: `/v1/responses`."""
    with pytest.raises(ChatRefused) as refused:
        parse_chat_request(
            rewrite_response_request(json.dumps({"model": "moot/board", **fields}).encode())
        )
    assert (refused.value.status, refused.value.param) == (400, param)


@pytest.mark.parametrize(
    "asked",
    [
        "Should we ship on Friday?",
        "What should the title of our annual conference be? Give a short name.",
        "Give our chat app a short name for its launch.",
        "### Task:\nDecide whether we rewrite the product.\n### Output:\nA decision with reasons.",
        '### Task:\nRespond to the user query using the provided context.\n<context>{ "title": "x" }</context>\nShip?',
        "User: said the price is too high. Do we lower it?",
        "我们的聊天产品该叫什么名字？",
        "Summarize what speaks against hiring in one short sentence, then decide.",
    ],
)
def test_a_question_is_not_taken_for_a_side_question(asked: str) -> None:
    """Careless or not: whoever asks a panel gets a panel."""
    assert answer_side_question(chat(asked)) is None
    assert answer_side_question(chat(asked, max_tokens=4_096)) is None
    assert answer_side_question(chat("Hello.", ("assistant", "Hello!"), asked)) is None


def test_a_file_that_comes_again_under_its_name_is_its_new_version() -> None:
    """G-1: of two in one message both stay, and the opening says that a citation must name one text."""

    def give(*texts: str) -> list[dict[str, Any]]:
        files = [
            {
                "type": "file",
                "file": {"filename": "plan.md", "file_data": f"data:text/plain,{text}"},
            }
            for text in texts
        ]
        return [*files, {"type": "text", "text": "Do we ship?"}]

    later = read_question(
        chat(("user", give("one")), ("assistant", "Wait."), ("user", give("two")))
    )
    assert [(file.name, file.text) for file in later.files] == [("plan.md", "two")]
    assert [file.text for file in read_question(chat(("user", give("one", "two")))).files] == [
        "one",
        "two",
    ]
