"""Print what can be counted of how the source reads, and fail where it is over its limits: python checks/source_figures.py

Lines of Python, functions named by a bare participle (a function is a verb and its object), public class names that stand for
two things, the share of comment lines.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MOST_LINES = 70_500
"""Where it stands."""
MOST_PARTICIPLES = 15
LEAST_COMMENTS = 0.015
PARTICIPLE = re.compile(
    r"_*([a-z]+ed|told|found|kept|heard|given|taken|said|seen|held|made|shown|known|written|drawn|sent|built|begun|chosen|done|left"
    r"|lost|spoken)"
)


FINE = frozenset({"seed"})
"""Verbs that end like participles."""


def main() -> int:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    lines = [line for text in texts.values() for line in text.splitlines()]
    comments = sum(line.lstrip().startswith("#") for line in lines) / len(lines)
    participles = [f"{path.relative_to(SOURCE)}: {name}" for path, tree in trees.items() for name in find_participles(tree)]
    twice = find_repeated_classes(trees.values())
    figures = [
        (f"{len(lines)} lines of Python (at most {MOST_LINES})", len(lines) <= MOST_LINES),
        (
            f"{len(participles)} functions named by a bare participle (at most {MOST_PARTICIPLES}): {', '.join(participles)}",
            len(participles) <= MOST_PARTICIPLES,
        ),
        (f"{len(twice)} public class names that are used twice (none): {', '.join(twice)}", not twice),
        (f"{comments:.2%} of the lines are comments (at least {LEAST_COMMENTS:.1%})", comments >= LEAST_COMMENTS),
    ]
    for told, is_kept in figures:
        print(f"{'ok' if is_kept else 'NO'}  {told.rstrip(': ')}")
    return 0 if all(is_kept for _, is_kept in figures) else 1


def find_participles(tree: ast.AST) -> Iterator[str]:
    """The functions whose whole name is a participle; properties and other decorated ones are names of values."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.decorator_list:
            continue
        if PARTICIPLE.fullmatch(node.name) and node.name not in FINE:
            yield node.name


def find_repeated_classes(trees: Iterable[ast.AST]) -> list[str]:
    names = Counter(
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, count in names.items() if count > 1)


if __name__ == "__main__":
    sys.exit(main())
