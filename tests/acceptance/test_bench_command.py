"""`moot bench`: models alone, their blind vote and protocols on questions whose answers are known (G-3)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, held, until
from tests.support.model_provider import ModelProvider

from moothall.features.bench.questions import load_questions
from moothall.features.bench.runs import BenchPlan, BenchResult, BenchRun
from moothall_testkit.stub_server import Request, Step, StubReply

MODELS = ["--model", "openai:skilled", "--model", "openai:guessing"]


def write_questions(path: Path, count: int = 12) -> Path:
    """Questions whose number says the answer."""
    rows = [
        {
            "question": f"Question {n}: red or blue?",
            "answer": find_answer(n),
            "options": ["red", "blue"],
        }
        for n in range(count)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def find_answer(number: int) -> str:
    return "red" if number % 3 else "blue"


def answer_by_skill(kind: str, request: Request) -> Step | None:
    """`skilled` is wrong in every tenth question and says .9; `guessing` always says red, as sure; both vote for anything."""
    if kind != "propose":
        return None
    number = int(request.text.partition("> Question ")[2].partition(":")[0])
    model = str(request.body["model"])
    right = find_answer(number)
    wrong = "red" if right == "blue" else "blue"
    choice = "red" if model == "guessing" else wrong if number % 10 == 0 else right
    return StubReply(
        text=json.dumps(
            {"type": "propose", "text": f"It is {choice}.", "choice": choice, "confidence": 0.9}
        )
    )


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider(change=answer_by_skill) as found:
        yield found


@pytest.fixture
def cli(tmp_path: Path, provider: ModelProvider) -> Cli:
    return Cli(
        tmp_path / "home", tmp_path, OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=provider.base_url
    )


def test_the_bench_recommends_what_is_right_more_often_and_asks_nothing_twice(
    cli: Cli, provider: ModelProvider
) -> None:
    """G-3: a skilled model and one that guesses; figures by count, a sentence to act on, a second run without a call."""
    file = str(write_questions(cli.cwd / "colours.jsonl"))
    expected = cli("bench", file, *MODELS, "--dry-run").out
    assert "12 sessions, 0 recorded already" in expected
    assert provider.answered == []
    found = cli.json("bench", file, *MODELS)
    assert (
        found["ways"]["openai:skilled"]["right"],
        found["ways"]["openai:guessing"]["right"],
    ) == (10, 8)
    assert found["recommendation"]["way"] == "openai:skilled"
    assert found["said"].startswith("One model is enough: openai:skilled is right in 10 of 12")
    assert found["ways"]["openai:skilled"]["calls"] == 12
    assert found["ways"]["openai:guessing"]["brier"] == pytest.approx((8 * 0.01 + 4 * 0.81) / 12)
    calls = len(provider.answered)
    # Three seats vote; nothing of the bench is among the decisions or the sessions of the user.
    assert found["ways"]["vote"]["calls"] == 36
    assert (cli("list").out, cli("decisions").out) == ("", "")
    assert cli.json("bench", file, *MODELS) == found
    assert len(provider.answered) == calls
    for form, wanted in (("md", "| openai:skilled | 10/12 (83% ± 11%) |"), ("html", "<table")):
        assert wanted in cli("bench", file, *MODELS, "--form", form).out
    assert len(provider.answered) == calls


def test_a_bench_that_is_killed_goes_on_where_it_stopped(cli: Cli, provider: ModelProvider) -> None:
    """G-3: kill -9 in mid-run; the second run asks what is missing, and no recorded answer again."""
    file = str(write_questions(cli.cwd / "colours.jsonl", 12))
    process = cli.spawn(["bench", file, *MODELS, "--at-once", "1"])
    until(lambda: len(provider.answered) >= 12)
    process.kill()
    process.wait(60)
    found = cli.json("bench", file, *MODELS)
    assert found["ways"]["openai:skilled"]["asked"] == 12
    proposals = provider.answered.count("propose")
    # What was on its way when the process died may be asked once more: three seats of one question.
    assert 36 <= proposals <= 39


def test_an_outage_costs_no_question(cli: Cli, provider: ModelProvider) -> None:
    """G-3: what could not be asked is counted apart, not as wrong."""
    file = str(write_questions(cli.cwd / "colours.jsonl", 3))
    cli("bench", file, *MODELS)
    provider.is_out = True
    more = str(write_questions(cli.cwd / "more.jsonl", 5))
    (cli.cwd / "colours.jsonl.moot").rename(cli.cwd / "more.jsonl.moot")
    done = cli("bench", more, *MODELS, "--json")
    found = json.loads(done.out)
    parked = [line.partition(" ")[2] for line in done.err.splitlines() if "parked" in line]
    assert sorted(parked) == [
        *["openai:guessing (bare): … parked"] * 2,
        *["openai:skilled (bare): … parked"] * 2,
        *["vote: … parked"] * 2,
    ]
    assert found["ways"]["openai:skilled"]["asked"] == 3
    assert found["unasked"] == {"parked": 6}
    provider.is_out = False
    assert cli.json("bench", more, *MODELS)["ways"]["openai:skilled"]["asked"] == 5


def test_nothing_is_begun_beyond_the_money(tmp_path: Path, cli: Cli) -> None:
    """G-3: the limit is said with how many it kept from being asked; they count as neither right nor wrong."""

    async def work() -> BenchResult:
        async with cli.moot() as moot:
            plan = BenchPlan(models=("openai:skilled",), votes=2, money=0.0)
            return await BenchRun(moot, plan).run(
                load_questions(write_questions(tmp_path / "q.jsonl", 3))
            )

    found = held(work())
    assert (dict(found.unasked), found.ways["openai:skilled"]) == ({"money": 6}, {})


BAD: list[tuple[str, str, str]] = [
    (
        "q.jsonl",
        '{"question": "A?", "answer": "x"}\n{"question": "B?"}\n',
        "q.jsonl, line 2: answer is missing",
    ),
    ("q.jsonl", '{"question": "A?"\n', "q.jsonl, line 1: not valid JSON"),
    ("q.jsonl", "[1]\n", "line 1: expected an object with question and answer"),
    ("q.jsonl", '{"question": "A?", "answer": "x", "hint": 1}\n', "line 1: unknown field 'hint'"),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "x", "options": ["y", "z"]}\n',
        "line 1: the answer 'x' is not one of the options: y, z",
    ),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "x"}\n{"question": "A?", "answer": "y"}\n',
        "line 2: the question 'A?' stands",
    ),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "1", "options": 5}\n',
        "line 1: options: expected a list",
    ),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "1", "tolerance": -1}\n',
        "line 1: tolerance: expected a share",
    ),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "1", "tolerance": NaN}\n',
        "line 1: tolerance: expected a share",
    ),
    (
        "q.jsonl",
        f'{{"question": "{"A" * 20_001}", "answer": "1"}}\n',
        "line 1: the topic has 20001 characters",
    ),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "x", "options": "x|X|y"}\n',
        "line 1: the options 'x' and 'X' are the same",
    ),
    (
        "q.jsonl",
        '{"question": "A?", "answer": "x", "options": ["x", null]}\n',
        "line 1: options: expected text or a number",
    ),
    ("q.jsonl", '{"question": "A?", "answer": NaN}\n', "line 1: answer: expected text or a number"),
    ("q.jsonl", "\n", "no question; expected lines such as"),
    ("q.csv", "question,answer\nA?,x,y\n", "q.csv, line 2: 2 columns were expected"),
    ("q.csv", "question,answer,tolerance\nA?,4,near\n", "line 2: tolerance: expected a share"),
]


@pytest.mark.parametrize(("name", "text", "told"), BAD)
def test_a_bad_file_is_one_sentence_with_its_line(
    cli: Cli, name: str, text: str, told: str
) -> None:
    """G-3: nothing is asked, and nothing is left behind."""
    (cli.cwd / name).write_text(text, encoding="utf-8")
    done = cli("bench", name, *MODELS, code=2)
    assert told in done.err
    assert len(done.err.splitlines()) == 1


def build_rows() -> list[tuple[dict[str, Any], str, bool]]:
    number = {"question": "Sum?", "answer": "1200"}
    near = {**number, "tolerance": "0.01"}
    words = {"question": "Capital?", "answer": "Paris"}
    return [
        (number, "1,200", True),
        (number, "It is 1200.", True),
        (number, "1201", False),
        (number, "not 1200", False),
        (number, "绝不是 1200", False),
        (number, "1100, not 1200", False),
        (near, "about 1205", True),
        (near, "1250", False),
        (words, "paris.", True),
        (words, "Paris or Lyon", False),
        (words, "", False),
        ({"question": "Which?", "answer": "2", "options": "1|2"}, "12", False),
    ]


@pytest.mark.parametrize(("row", "said", "right"), build_rows())
def test_an_answer_is_right_by_a_written_rule(
    tmp_path: Path, row: dict[str, Any], said: str, right: bool
) -> None:
    """G-3: choices and words as a whole, numbers within their tolerance."""
    (tmp_path / "q.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert load_questions(tmp_path / "q.jsonl")[0].is_right(said) is right


def answer_freely(kind: str, request: Request) -> Step | None:
    """`skilled` gives the capital in other words, `guessing` another city; the judge, of another family, knows a paraphrase."""
    if kind != "propose":
        return None
    text = json.dumps(request.body, ensure_ascii=False)
    if "expected answer" not in text:
        number = int(text.split("Capital ")[1].split("?")[0]) if "Capital " in text else -1
        choice = f"City{number} indeed" if request.body["model"] == "skilled" else "Nowhere"
        choice = ("red" if request.body["model"] == "skilled" else "blue") if number < 0 else choice
        return StubReply(
            text=json.dumps(
                {"type": "propose", "text": f"{choice}.", "choice": choice, "confidence": 0.9}
            )
        )
    is_same = " indeed" in text or "| red" in text.rpartition("The given answer")[2]
    # It errs: of the city 3 its second seat says the contrary.
    choice = (
        "different"
        if not is_same or ("City3" in text and "sets the answers apart" in text)
        else "same"
    )
    return StubReply(
        text=json.dumps(
            {"type": "propose", "text": f"{choice}.", "choice": choice, "confidence": 0.9}
        )
    )


def read_most_calls(line: str) -> int:
    return int(line.partition(" – ")[2].partition(" model calls")[0].replace(",", ""))


def test_a_judge_of_another_family_judges_free_answers_and_its_own_error_is_shown(
    cli: Cli, provider: ModelProvider
) -> None:
    """G-3: paraphrases are right, where the judge contradicts itself they are not; a second run calls nothing."""
    provider.change = answer_freely
    rows = [{"question": f"Capital {n}?", "answer": f"City{n}"} for n in range(4)]
    rows += [{"question": "Red?", "answer": "red", "options": "red|blue"}]
    (cli.cwd / "q.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8"
    )
    words = ["bench", "q.jsonl", *MODELS, "--votes", "3"]
    assert {way["right"] for way in cli.json(*words)["ways"].values()} == {0, 1}
    asked = provider.answered.count("propose")
    # At most five answers to each question are judged, twice: two models, each also by the bare question, and their vote.
    plain, judged = (
        cli(*words, *more, "--dry-run").out for more in ([], ["--judge", "openai:weigher"])
    )
    assert "; with up to 25 answers that are judged, each twice" in judged
    assert read_most_calls(judged) >= read_most_calls(plain) + 2 * 15
    done = cli(*words, "--judge", "openai:weigher", "--json")
    result = json.loads(done.out)
    shown = [line.partition(" ")[2] for line in done.err.splitlines()]
    assert sum(line.startswith("vote: … ") for line in shown) == 4
    assert {
        "openai:weigher: ✓ City1 indeed",
        "openai:weigher: ✗ City3 indeed",
        "openai:weigher: ✗ Nowhere",
    } <= set(shown)
    assert "\n15/15 " in done.err
    assert (
        result["ways"]["openai:skilled"]["right"],
        result["ways"]["openai:guessing"]["right"],
    ) == (4, 0)
    assert result["judge"] == {
        "judge": "openai:weigher",
        "judged": 12,
        "split": 1,
        "known": 2,
        "wrong": 0,
    }
    # Two seats judge twelve free answers and two with an exact rule; nothing was answered anew.
    assert provider.answered.count("propose") == asked + 28
    report = cli(*words, "--judge", "openai:weigher", "--form", "md").out
    assert "In 1 of 12 (8% ± 8%) it contradicted itself" in report
    assert "Of 2 answers with an exact rule it judged 0 wrongly" in report
    assert provider.answered.count("propose") == asked + 28
    assert (
        "of the same family as openai:skilled"
        in cli(*words, "--judge", "openai:skilled", code=2).err
    )


def test_each_question_says_what_each_way_answered_and_which_are_wrong(
    cli: Cli, provider: ModelProvider
) -> None:
    """G-3: in JSON and HTML, by category, with the model as a user calls it, and the calls of the vote as they were paid."""
    file = write_questions(cli.cwd / "colours.jsonl", 4)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["category"] = "even" if number % 2 == 0 else "odd"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    found = cli.json("bench", str(file), *MODELS)
    first = found["questions"][0]
    assert (first["question"], first["answer"]) == ("Question 0: red or blue?", "blue")
    assert first["answers"]["openai:skilled"]["said"] == "red"
    assert first["answers"]["openai:skilled"]["right"] is False
    assert [each["answers"]["openai:guessing"]["right"] for each in found["questions"]] == [
        False,
        True,
        True,
        False,
    ]
    assert found["categories"]["odd"]["openai:guessing"]["right"] == 1
    # What a user would send: the question, and no word of Moot's.
    bare = [text for text in provider.prompts if text.strip().endswith("red or blue?")]
    assert len(bare) == 4 * 2
    assert found["ways"]["openai:skilled (bare)"]["calls"] == 4
    # Where the blind answers lead, nothing more is asked and paid, also where they are split.
    assert {each["answers"]["vote"]["calls"] for each in found["questions"]} == {3}
    html = cli("bench", str(file), *MODELS, "--form", "html").out
    assert "Question 3: red or blue?" in html
    assert "✗ red" in html
    assert "By category" in html


def test_a_folder_is_no_file_of_questions(cli: Cli) -> None:
    """G-3: one sentence, also for the current folder, which has no name."""
    for place in (".", str(cli.cwd)):
        done = cli("bench", place, *MODELS, code=2)
        assert "is a folder" in done.err
        assert "Traceback" not in done.err
