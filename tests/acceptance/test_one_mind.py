"""One function on several seats is one mind, from the library's door to what is said of the decision (Q-11)."""

from pathlib import Path

import pytest

import moothall
from moothall import Decision, build_memo
from moothall.domain.effects import Brief


def call_my_llm(brief: Brief) -> object:
    return {"type": "propose", "text": "A it is.", "choice": "A", "confidence": 0.95}


def ask_another(brief: Brief) -> object:
    return call_my_llm(brief)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_HOME", str(tmp_path))


def hold(*functions: object) -> Decision:
    seats = {f"s{number}": function for number, function in enumerate(functions)}
    return moothall.hold(
        "Which one, A or B?",
        seats=seats,  # type: ignore[arg-type]  # functions of one brief
        protocol="debate",
        options=["A", "B"],
    )


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("count", [2, 5])
def test_one_function_on_several_seats_says_what_one_answer_of_it_is_worth(count: int) -> None:
    """Q-11, D-26: five seats of one function were .961 and strong."""
    decision = hold(*[call_my_llm] * count)
    assert decision.confidence == pytest.approx(0.65)
    assert (decision.effective, decision.minds) == (1.0, 1)
    assert (decision.strength, "one_model" in decision.reservations) == ("fair", True)
    assert "All of them are the same model" in build_memo(decision, "en").text


@pytest.mark.usefixtures("home")
def test_two_functions_are_two_minds() -> None:
    """Q-11"""
    decision = hold(call_my_llm, ask_another)
    assert decision.minds == 2
    assert decision.confidence is not None
    assert decision.confidence > 0.7
