"""What the limits on the source count: the shape of a statement, and never its lines."""

import ast
from pathlib import Path

import pytest
from checks.density import Density, measure_density


def measure(text: str) -> Density:
    return measure_density({Path("x.py"): ast.parse(text)})


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 if b else 2 if c else 3",
        "a = (1 if b else 2) if c else 3",
        "a = 1 if (b if d else e) else 2",
    ],
)
def test_a_conditional_expression_within_another_is_counted(text: str) -> None:
    density = measure(text)
    assert density.nested_conditionals == ["x.py:1"]
    assert len(density.conditionals) == 2


@pytest.mark.parametrize(
    ("text", "is_crowded"),
    [
        ("[a for b in c for a in b if a]", True),
        ("{a for b in c if (a := b.d) is not None}", True),
        ("{a: b for a, b in c if a}", False),
        ("[[a for a in b if a] for b in c if b]", False),
        ("[[d for a in b if (d := a)] for b in c]", True),
    ],
)
def test_three_clauses_or_a_walrus_crowd_a_comprehension(text: str, is_crowded: bool) -> None:
    assert bool(measure(text).crowded_comprehensions) is is_crowded


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("[word] * (a < b)", 1),
        ("[word] * has_word(a)", 1),
        ("[word] * self.is_late", 1),
        ("bool(a) * 3", 1),
        ("(not a) * 3", 1),
        ("a * b", 0),
        ("has_word(a) + 1", 0),
    ],
)
def test_a_product_with_a_truth_value_is_counted(text: str, count: int) -> None:
    assert len(measure(text).truth_products) == count


def test_a_statement_is_long_by_what_it_holds_and_not_by_its_lines() -> None:
    names = [f"a{number}" for number in range(40)]
    joined = f"x = [{', '.join(names)}]"
    unfolded = "x = [\n" + "".join(f"    {name},\n" for name in names) + "]"
    assert measure(joined).long_statements == ["x.py:1"]
    assert measure(unfolded) == measure(joined)
    assert measure("x = [a0]").long_statements == []


def test_a_docstring_is_not_counted() -> None:
    assert (
        measure('def f():\n    """Say nothing."""\n    return 1').nodes
        == measure("def f():\n    return 1").nodes
    )
