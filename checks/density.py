"""How much a statement of the source holds, counted so that neither the number of lines nor their width matters.

Shares are per 10,000 syntax nodes: unfolding a statement lowers them, joining or breaking lines does not. A docstring is not
counted. What each figure allows, and why lines are not counted, stands in docs/decisions/0077-density-in-place-of-lines.md.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MAX_STATEMENT_NODES = 60
"""A statement of more syntax nodes is long; one with nothing but values in it is a table."""
MAX_CLAUSES = 2
"""A comprehension with more `for` and `if` clauses is crowded, and so is one with a walrus."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
STATEMENTS = (ast.Return, ast.Assign, ast.Expr, ast.AugAssign, ast.AnnAssign)
TRUTH_PREFIXES = ("is_", "has_", "bool(", "not ")


@dataclass(slots=True)
class Density:
    nodes: int = 0
    """Syntax nodes, docstrings left out."""
    conditionals: list[str] = field(default_factory=list)
    """The place of each conditional expression."""
    comprehensions: list[str] = field(default_factory=list)
    """The place of each comprehension and generator expression."""
    nested_conditionals: list[str] = field(default_factory=list)
    """The place of each conditional expression with another one as its condition or as a branch."""
    crowded_comprehensions: list[str] = field(default_factory=list)
    """The place of each comprehension of more than two clauses, or with a walrus."""
    truth_products: list[str] = field(default_factory=list)
    """The place of each product with a truth value, such as `[word] * has_word`."""
    long_statements: list[str] = field(default_factory=list)
    """The place of each statement of more than 60 syntax nodes."""

    def count_per_10_000(self, places: list[str]) -> float:
        return round(10_000 * len(places) / max(self.nodes, 1), 1)


def measure_density(trees: Mapping[Path, ast.Module]) -> Density:
    density = Density()
    for path, tree in trees.items():
        for node in ast.walk(tree):
            _count_node(node, f"{path}:{getattr(node, 'lineno', 0)}", density)
    return density


def _count_node(node: ast.AST, place: str, density: Density) -> None:
    if _is_docstring(node):
        # The statement counts itself out, and the constant in it.
        density.nodes -= 1
        return
    density.nodes += 1
    if isinstance(node, ast.IfExp):
        density.conditionals.append(place)
        if any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse)):
            density.nested_conditionals.append(place)
    if isinstance(node, COMPREHENSIONS):
        density.comprehensions.append(place)
        if _is_crowded(node):
            density.crowded_comprehensions.append(place)
    if _is_truth_product(node):
        density.truth_products.append(place)
    if isinstance(node, STATEMENTS) and _count_nodes(node) > MAX_STATEMENT_NODES:
        density.long_statements.append(place)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_crowded(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
) -> bool:
    clauses = 0
    for generator in node.generators:
        clauses += 1 + len(generator.ifs)
    return clauses > MAX_CLAUSES or any(isinstance(part, ast.NamedExpr) for part in _walk_own(node))


def _walk_own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a comprehension, those of comprehensions within it left out."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, COMPREHENSIONS):
            yield child
            yield from _walk_own(child)


def _is_truth_product(node: ast.AST) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    return _is_truth(node.left) or _is_truth(node.right)


def _is_truth(node: ast.expr) -> bool:
    """Whether an expression is true or false by its form: a comparison, `not …`, `is_…`, `bool(…)`."""
    if isinstance(node, ast.Compare | ast.BoolOp):
        return True
    name = ast.unparse(node)
    if not isinstance(node, ast.Call):
        name = name.rpartition(".")[2]
    elif isinstance(node.func, ast.Attribute):
        name = node.func.attr
    return name.startswith(TRUTH_PREFIXES)


def _count_nodes(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))
