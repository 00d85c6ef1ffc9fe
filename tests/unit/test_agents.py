"""How an agent is called, and how its answer is read from what it prints."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moothall.domain.budget import Usage
from moothall.errors import BadPanel, UnknownPlatform
from moothall.participants.agent_answers import AgentReply
from moothall.participants.command import fill_arguments, parse_output
from moothall.participants.recipes import Output, Recipe, find_recipe, load_agents, load_recipe

AGENTS = load_agents()


def recipe(output: Output = "text", *texts: str, **more: Any) -> Recipe:
    return Recipe(name="agent", argv=("agent", "{prompt}"), output=output, texts=texts, **more)


def lines(*documents: object) -> bytes:
    return "".join(
        f"{json.dumps(document, ensure_ascii=False)}\n" for document in documents
    ).encode()


# How it is called


@pytest.mark.parametrize(
    "prompt",
    ["two words", "", "--flag", "{session}", "{prompt}", "$(touch x)\n`touch x`", "你好 👋"],
)
def test_a_prompt_is_one_argument_whatever_is_in_it(prompt: str) -> None:
    assert fill_arguments(("agent", "-p", "{prompt}", "--last"), prompt, "s-1", {}) == [
        "agent",
        "-p",
        prompt,
        "--last",
    ]


def test_a_session_is_put_where_it_is_named_also_within_a_word() -> None:
    argv = ("agent", "--resume={session}", "{session}", "{prompt}", "{other}")
    assert fill_arguments(argv, "Why?", "s 1", {}) == [
        "agent",
        "--resume=s 1",
        "s 1",
        "Why?",
        "{other}",
    ]


def test_a_file_that_an_agent_must_be_given_is_one_argument() -> None:
    assert (
        fill_arguments(
            ("agent", "--policy", "{file:looks.toml}"), "?", "s", {"looks.toml": "/a b/looks.toml"}
        )[-1]
        == "/a b/looks.toml"
    )


# What it prints: text


def test_text_is_taken_as_it_is() -> None:
    assert parse_output(recipe(), b"\n  We should.\n\n{not json}\n ") == AgentReply(
        text="We should.\n\n{not json}"
    )


def test_text_in_no_encoding_is_read_as_far_as_it_goes() -> None:
    assert parse_output(recipe(), b"caf\xe9") == AgentReply(text="caf\ufffd")


@pytest.mark.parametrize("out", [b"", b" \n\t\n"])
def test_no_text_is_no_answer(out: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it printed nothing$"):
        parse_output(recipe(), out)


# What it prints: one document


DOCUMENT = {
    "result": " 好的 \n",
    "session_id": "s-1",
    "usage": {"input_tokens": 12, "output_tokens": 3},
    "total_cost_usd": 0.25,
    "messages": [{"text": "first"}, {"text": "last"}],
}
PATHS: dict[str, Any] = {
    "sessions": ("session_id",),
    "tokens_in": "usage.input_tokens",
    "tokens_out": "usage.output_tokens",
    "dollars": "total_cost_usd",
}


def test_a_document_is_read_by_its_paths() -> None:
    found = parse_output(recipe("json", "result", **PATHS), lines(DOCUMENT))
    assert found == AgentReply(
        text="好的", session="s-1", usage=Usage(tokens_in=12, tokens_out=3, cost=250_000, calls=1)
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("messages.0.text", "first"),
        ("messages.-1.text", "last"),
        ("messages.1.text", "last"),
        ("session_id=s-1:result", "好的"),
    ],
)
def test_a_path_goes_through_lists_and_conditions(path: str, text: str) -> None:
    assert parse_output(recipe("json", path), lines(DOCUMENT)).text == text


@pytest.mark.parametrize(
    "path",
    [
        "nothing",
        "result.deeper",
        "usage",
        "usage.input_tokens",
        "messages.2.text",
        "messages.-3.text",
        "messages.first.text",
        "messages",
        "session_id=s-2:result",
        "session_id:result",
        "",
    ],
)
def test_a_path_that_leads_to_no_text_is_no_answer(path: str) -> None:
    with pytest.raises(ValueError, match=r"^no answer at "):
        parse_output(recipe("json", path), lines(DOCUMENT))


def test_paths_are_tried_in_their_order() -> None:
    assert (
        parse_output(recipe("json", "nothing", "messages.0.text", "result"), lines(DOCUMENT)).text
        == "first"
    )


def test_what_it_does_not_say_is_not_made_up() -> None:
    assert parse_output(recipe("json", "result", **PATHS), b'{"result": "Yes."}') == AgentReply(
        text="Yes."
    )


@pytest.mark.parametrize(
    "odd",
    [
        {
            "session_id": 7,
            "usage": {"input_tokens": -1, "output_tokens": "3"},
            "total_cost_usd": -0.1,
        },
        {"session_id": None, "usage": [1, 2], "total_cost_usd": "0.1"},
        {
            "session_id": ["s"],
            "usage": {"input_tokens": 1.5, "output_tokens": None},
            "total_cost_usd": float("nan"),
        },
        {"session_id": {}, "usage": 7, "total_cost_usd": {}},
    ],
)
def test_figures_that_are_none_do_not_count(odd: dict[str, Any]) -> None:
    assert parse_output(
        recipe("json", "result", **PATHS), lines({"result": "Yes.", **odd})
    ) == AgentReply(text="Yes.")


def test_true_is_no_figure() -> None:
    odd = {"usage": {"input_tokens": True, "output_tokens": True}, "total_cost_usd": True}
    assert parse_output(
        recipe("json", "result", **PATHS), lines({"result": "Yes.", **odd})
    ) == AgentReply(text="Yes.")


@pytest.mark.parametrize("cost", ["Infinity", "1e999", "1" + "0" * 400])
def test_a_cost_without_an_end_does_not_count(cost: str) -> None:
    assert (
        parse_output(
            recipe("json", "result", **PATHS),
            f'{{"result": "Yes.", "total_cost_usd": {cost}}}'.encode(),
        ).usage.cost
        is None
    )


def test_what_comes_before_the_document_is_skipped() -> None:
    assert (
        parse_output(recipe("json", "result"), b'Loading...\n\xef\xbb\xbf{"result": "Yes."}\n').text
        == "Yes."
    )


def test_a_log_line_with_a_bracket_before_the_document_is_skipped() -> None:
    assert (
        parse_output(recipe("json", "result"), b'[warn] no config found\n{"result": "Yes."}\n').text
        == "Yes."
    )


def test_what_comes_after_the_document_is_skipped() -> None:
    assert (
        parse_output(recipe("json", "result"), b'{"result": "Yes."}\nDone in 3 s.\n').text == "Yes."
    )


def test_a_list_of_documents_is_read_like_lines() -> None:
    out = json.dumps(
        [{"type": "init", "session_id": "s-1"}, {"type": "result", "result": "Yes."}]
    ).encode()
    assert parse_output(recipe("json", "result", sessions=("session_id",)), out) == AgentReply(
        text="Yes.", session="s-1"
    )


@pytest.mark.parametrize(
    "out",
    [
        b"",
        b"Sorry.",
        b'{"result": "Ye',
        b'{"result": }',
        b"{" * 100_000,
        b"[" * 100_000,
        b"\x00\xff",
    ],
    ids=["nothing", "words", "half", "broken", "deep", "deep lists", "bytes"],
)
def test_half_a_document_or_none_is_told(out: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it printed no JSON: ") as told:
        parse_output(recipe("json", "result"), out)
    assert len(str(told.value)) < 1_000


@pytest.mark.parametrize(
    "out",
    [
        b'{"result": ""}',
        b'{"result": "  "}',
        b'{"result": null}',
        b'{"result": 7}',
        b"{}",
        b"[]",
        b"[7]",
    ],
)
def test_a_document_without_an_answer_is_told(out: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no answer at result or text; it printed ") as told:
        parse_output(recipe("json", "result", "text"), out)
    assert out.decode() in str(told.value)


def test_where_it_says_what_went_wrong_that_is_told() -> None:
    told = recipe("json", "result", faults=("is_error=true:result", "error.message"))
    with pytest.raises(ValueError, match=r"^it failed: You are not logged in\.$"):
        parse_output(told, b'{"error": {"message": "You are not logged in."}}')
    with pytest.raises(ValueError, match=r"^it failed: Out of credit\.$"):
        parse_output(told, b'{"is_error": true, "result": "Out of credit."}')
    assert parse_output(told, b'{"is_error": false, "result": "Yes."}').text == "Yes."


# What it prints: lines


EVENTS = (
    {"type": "init", "session": {"id": "s-1"}},
    {"type": "text", "part": {"text": "Let me see."}},
    {"type": "tool", "part": {"text": "ls"}, "usage": {"in": 5}},
    {"type": "text", "part": {"text": "Yes, we should."}},
    {"type": "end", "usage": {"in": 12, "out": 3}, "cost": 1},
    {"type": "tool", "part": {"text": "rm"}},
)


def test_of_several_lines_the_last_that_has_it_counts() -> None:
    read = recipe(
        "jsonl",
        "type=text:part.text",
        sessions=("session.id",),
        tokens_in="usage.in",
        tokens_out="type=end:usage.out",
        dollars="cost",
    )
    assert parse_output(read, lines(*EVENTS)) == AgentReply(
        text="Yes, we should.",
        session="s-1",
        usage=Usage(tokens_in=12, tokens_out=3, cost=1_000_000, calls=1),
    )


def test_what_all_lines_have_is_put_together_where_the_path_says_so() -> None:
    assert (
        parse_output(recipe("jsonl", "+type=text:part.text"), lines(*EVENTS)).text
        == "Let me see.Yes, we should."
    )


def test_lines_that_are_none_are_skipped() -> None:
    out = b'Starting\n{"text": "half\n\n  {"text": "Yes."}\r\n[1]\n{"tex'
    assert parse_output(recipe("jsonl", "text"), out).text == "Yes."


@pytest.mark.parametrize("out", [b"", b"Sorry.\n", b'{"text": "Ye', b"[]\n"])
def test_no_whole_line_is_told(out: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it printed no JSON lines: "):
        parse_output(recipe("jsonl", "text"), out)


@pytest.mark.parametrize(
    "separator", ["\u2028", "\u2029", "\x85"], ids=["U+2028", "U+2029", "U+0085"]
)
def test_a_line_ends_with_a_newline_and_nothing_else(separator: str) -> None:
    """JSON.stringify writes U+2028 as it is."""
    text = f"One.{separator}Two."
    assert parse_output(recipe("jsonl", "text"), lines({"text": text})).text == text


def test_there_may_be_several_conditions() -> None:
    documents = lines(
        {"type": "text", "role": "agent", "text": "Yes."},
        {"type": "text", "role": "user", "text": "Well?"},
    )
    assert parse_output(recipe("jsonl", "type=text:role=agent:text"), documents).text == "Yes."


def test_a_condition_is_written_as_json_writes_it() -> None:
    assert (
        parse_output(
            recipe("json", "is_error=false:result"), b'{"is_error": false, "result": "Yes."}'
        ).text
        == "Yes."
    )


# Recipes of the user's own


GOOD = """
argv = ["my-agent", "--quiet", "{prompt}"]
words = "{prompt}"
output = "json"
text = "result"
session = "session_id"
resume = ["my-agent", "--resume", "{session}", "{prompt}"]
environ = { MY_AGENT_QUIET = "1" }
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_recipe_is_read_from_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    meant = Recipe(
        name="mine",
        argv=("my-agent", "--quiet", "{prompt}"),
        words="{prompt}",
        output="json",
        texts=("result",),
        sessions=("session_id",),
        resume=("my-agent", "--resume", "{session}", "{prompt}"),
        environ={"MY_AGENT_QUIET": "1"},
    )
    assert load_recipe(path) == find_recipe(str(path)) == meant


def test_the_smallest_recipe_is_an_argv(tmp_path: Path) -> None:
    assert load_recipe(written(tmp_path, 'argv = ["echo", "{prompt}"]')) == Recipe(
        name="mine", argv=("echo", "{prompt}")
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("argv = [", "is not valid TOML: "),
        ("", "argv must be a list of words, the program first"),
        ('argv = "agent {prompt}"', "argv must be a list of words, the program first"),
        ("argv = []", "argv must be a list of words, the program first"),
        ('argv = ["", "{prompt}"]', "argv must be a list of words, the program first"),
        ('argv = ["agent", 7, "{prompt}"]', "argv must be a list of words, the program first"),
        ('argv = ["agent"]', "neither argv nor words holds {prompt}"),
        ('argv = ["agent", "-p={prompt}"]', "neither argv nor words holds {prompt}"),
        (
            f'{GOOD}\ncolour = "red"',
            "'colour' is no key here; known: acp, argv, environ, judges, output, passes, resume, session, text, words",
        ),
        (
            'argv = ["agent", "{prompt}"]\noutput = "xml"',
            "output = 'xml'; known: text, json, jsonl",
        ),
        (
            'argv = ["agent", "{prompt}"]\noutput = "json"',
            "'text' must say where in its json the answer is",
        ),
        (
            'argv = ["agent", "{prompt}"]\noutput = "jsonl"\ntext = 7',
            "'text' must say where in its jsonl the answer is",
        ),
        (
            'argv = ["agent", "{prompt}"]\nresume = "agent"',
            "resume must be a list of words, the program first",
        ),
        ('argv = ["agent", "{prompt}"]\nenviron = "A=1"', "environ must be a table of texts"),
        ('argv = ["agent", "{prompt}"]\nenviron = { A = 1 }', "environ must be a table of texts"),
    ],
)
def test_a_mistake_in_a_recipe_is_told_with_its_file(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadPanel) as refused:
        load_recipe(path)
    assert str(refused.value).startswith(f"the agent file {path}")
    assert told in str(refused.value)


AGENT = 'argv = ["agent", "{prompt}"]\n'


@pytest.mark.parametrize(
    "text",
    [
        'argv = ["agent"]\nwords = "Hello"',
        'argv = ["agent"]\nwords = ""',
        'argv = ["agent"]\nwords = 7',
        f"{AGENT}words = 7",
        f'{AGENT}output = "json"\ntext = "result"\nsession = 7',
        f'{AGENT}output = ["json"]',
        f'{AGENT}output = "json"\ntext = "result"\nresume = ["agent", "{{session}}", "{{prompt}}"]',
        f'{AGENT}output = "json"\ntext = "result"\nsession = "id"\nresume = ["agent", "{{prompt}}"]',
        f'{AGENT}output = "json"\ntext = "result"\nsession = "id"\nresume = ["agent", "{{session}}"]',
        f'{AGENT}session = "id"',
        f'{AGENT}environ = {{ "A=B" = "1" }}',
        f'{AGENT}environ = {{ A = "a\\u0000b" }}',
        'argv = ["agent", "a\\u0000b", "{prompt}"]',
    ],
    ids=[
        "words without a prompt",
        "empty words",
        "a number for words, alone",
        "a number for words",
        "a number for a session",
        "a list for an output",
        "a resume without where the session is",
        "a resume without its session",
        "a resume without its prompt",
        "a session in plain text",
        "a variable's name with =",
        "a zero in a variable",
        "a zero in a word",
    ],
)
def test_a_recipe_that_cannot_work_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadPanel, match="the agent file"):
        load_recipe(written(tmp_path, text))


def test_a_word_behind_the_program_may_be_empty(tmp_path: Path) -> None:
    argv = ("agent", "--tools", "", "{prompt}")
    assert load_recipe(written(tmp_path, 'argv = ["agent", "--tools", "", "{prompt}"]')) == Recipe(
        name="mine", argv=argv
    )


def test_a_recipe_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadPanel, match=r"none\.toml cannot be read: No such file or directory"):
        find_recipe(str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BadPanel, match=r"folder\.toml cannot be read: Is a directory"):
        find_recipe(str(tmp_path / "folder.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadPanel, match=r"bytes\.toml is not a text in UTF-8"):
        find_recipe(str(tmp_path / "bytes.toml"))


@pytest.mark.parametrize("name", ["", "nobody", "claud", "../x", "x.tom", "rm -rf"])
def test_an_unknown_agent_is_told(name: str) -> None:
    with pytest.raises(UnknownPlatform) as told:
        find_recipe(name)
    assert (
        str(told.value)
        == f"no agent is called {name!r}; known: {', '.join(sorted(AGENTS))}, or give a .toml file"
    )


def test_a_known_agent_is_called_with_a_model_if_one_is_named() -> None:
    known, chosen = find_recipe("claude"), find_recipe("claude:opus:4")
    assert known is AGENTS["claude"]
    assert chosen == replace(
        known, argv=(*known.argv, "--model", "opus:4"), resume=(*known.resume, "--model", "opus:4")
    )


@pytest.mark.parametrize("name", ["claude:", "codex:gpt-5"])
def test_a_model_that_cannot_be_chosen_is_told(name: str) -> None:
    agent = name.partition(":")[0]
    with pytest.raises(
        UnknownPlatform,
        match=f"^command:{name}: expected command:{agent} or command:{agent}:MODEL$",
    ):
        find_recipe(name)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_every_known_agent_is_told_its_prompt_once_and_can_be_read(name: str) -> None:
    """And what it cannot be told later, its first call names: the session that is gone on with."""
    agent = AGENTS[name]
    for argv in (agent.argv, agent.resume):
        told = (*argv, *([] if agent.words is None else [agent.words]))
        assert told.count("{prompt}") == 1
    assert agent.name == name
    assert agent.texts
    assert agent.install
    assert any("{session}" in word for word in agent.resume)
    assert agent.sessions or any("{session}" in word for word in agent.argv)
