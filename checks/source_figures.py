"""Count how the source reads, and compare the figures with `checks/source_limits.toml`: python -m checks.source_figures

A figure above its limit fails. With `--tight`, as in `make check`, a figure well below its limit fails too, so that what was
gained is not lost again; `--lower` writes the lower limits.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from checks.density import MAX_CLAUSES, MAX_STATEMENT_NODES, Density, measure_density

SOURCE = Path(__file__).parents[1] / "src"
LIMITS = Path(__file__).with_name("source_limits.toml")
MIN_COMMENTS = 0.015
MAX_SHOWN = 20
PARTICIPLE = re.compile(
    r"_*([a-z]+ed|told|found|kept|heard|given|taken|said|seen|held|made|shown|known|written|drawn|sent|built|begun|chosen|done|left"
    r"|lost|spoken)"
)
VERBS = frozenset({"seed", "_feed"})
"""Verbs that end like participles."""
UNCLEAR = frozenset({"told", "found", "kept", "whoever", "somebody"})
"""Words that do not say what a name holds or who acts; "not found" does."""
NOT_FOUND = re.compile(r"not_?found", re.IGNORECASE)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Figure:
    value: float
    what: str
    slack: float = 0.0
    """The share of the limit that a figure may be below it before the limit has to follow."""
    where: tuple[str, ...] = ()

    def is_loose(self, limit: float) -> bool:
        return self.value < limit - self.slack * limit


def main() -> int:
    texts = {
        path.relative_to(SOURCE): path.read_text(encoding="utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }
    trees = {path: ast.parse(text) for path, text in texts.items()}
    figures = count_figures(texts, trees)
    limits: dict[str, float] = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    if "--lower" in sys.argv[1:]:
        limits = lower_limits(figures, limits)
    has_failed = False
    for name, figure in figures.items():
        limit = limits[name]
        is_loose = "--tight" in sys.argv[1:] and figure.is_loose(limit)
        note = f": lower the limit `{name}` to {figure.value} (--lower does it)" if is_loose else ""
        where = ""
        if figure.value > limit:
            where = f": {', '.join(figure.where[:MAX_SHOWN])}"
        is_bad = figure.value > limit or is_loose
        print(
            f"{'NO' if is_bad else 'ok'}  {figure.value} {figure.what} (at most {limit}){note}{where}"
        )
        has_failed |= is_bad
    lines = [line for text in texts.values() for line in text.splitlines()]
    comments = sum(line.lstrip().startswith("#") for line in lines) / len(lines)
    print(
        f"{'ok' if comments >= MIN_COMMENTS else 'NO'}  {comments:.2%} of the lines are comments (at least {MIN_COMMENTS:.1%})"
    )
    return int(has_failed or comments < MIN_COMMENTS)


def count_figures(texts: Mapping[Path, str], trees: Mapping[Path, ast.Module]) -> dict[str, Figure]:
    functions = {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path, tree in trees.items()
        for node in find_functions(tree)
    }
    long_function = max(functions, key=functions.__getitem__)
    participles = tuple(
        f"{path}: {node.name}"
        for path, tree in trees.items()
        for node in find_functions(tree)
        if not node.decorator_list and PARTICIPLE.fullmatch(node.name) and node.name not in VERBS
    )
    unclear = Counter({str(path): count_unclear_words(tree) for path, tree in trees.items()})
    circles = find_circles(build_import_graph(trees))
    repeated = find_repeated_classes(trees.values())
    return {
        "files": Figure(len(texts), "files", slack=0.01),
        "longest_function": Figure(
            functions[long_function],
            "lines in the longest function",
            slack=0.05,
            where=(long_function,),
        ),
        **count_density(measure_density(trees)),
        "participle_functions": Figure(
            len(participles), "functions named by a bare participle", where=participles
        ),
        "unclear_words": Figure(
            unclear.total(),
            f"times one of {', '.join(sorted(UNCLEAR))} in names and docstrings",
            slack=0.02,
            where=tuple(f"{path} {count}" for path, count in unclear.most_common(MAX_SHOWN)),
        ),
        "moot_methods": Figure(
            sum(count_methods(tree, "Moot") for tree in trees.values()), "methods of `Moot`"
        ),
        "import_circles": Figure(
            len(circles),
            "circles of imports",
            where=tuple(" <-> ".join(circle) for circle in circles),
        ),
        "repeated_classes": Figure(
            len(repeated), "public class names that are used twice", where=tuple(repeated)
        ),
    }


def count_density(density: Density) -> dict[str, Figure]:
    return {
        "conditional_expressions": Figure(
            density.count_per_10_000(density.conditionals),
            "conditional expressions in 10,000 syntax nodes",
            slack=0.01,
        ),
        "comprehensions": Figure(
            density.count_per_10_000(density.comprehensions),
            "comprehensions in 10,000 syntax nodes",
            slack=0.01,
        ),
        "nested_conditionals": _count_places(
            density.nested_conditionals, "conditional expressions within another"
        ),
        "crowded_comprehensions": _count_places(
            density.crowded_comprehensions,
            f"comprehensions of more than {MAX_CLAUSES} clauses, or with a walrus",
        ),
        "truth_products": _count_places(density.truth_products, "products with a truth value"),
        "long_statements": _count_places(
            density.long_statements, f"statements of more than {MAX_STATEMENT_NODES} syntax nodes"
        ),
    }


def _count_places(places: list[str], what: str) -> Figure:
    return Figure(len(places), what, where=tuple(places))


def lower_limits(figures: Mapping[str, Figure], limits: Mapping[str, float]) -> dict[str, float]:
    lowered = {name: min(limit, figures[name].value) for name, limit in limits.items()}
    text = LIMITS.read_text(encoding="utf-8")
    for name, limit in lowered.items():
        text = re.sub(rf"^{name} = [\d.]+$", f"{name} = {limit}", text, flags=re.MULTILINE)
    LIMITS.write_text(text, encoding="utf-8")
    return lowered


def find_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def count_unclear_words(tree: ast.Module) -> int:
    """Count the unclear words in every name of the code, and in docstrings (those below attributes too)."""
    written: list[str] = []
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name)
                | ast.arg(arg=name)
                | ast.Attribute(attr=name)
                | ast.alias(name=name)
                | ast.keyword(arg=str(name))
            ):
                written.append(name)
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                written.append(name)
            case ast.Expr(value=ast.Constant(value=str(docstring))):
                written.append(docstring)
    return sum(
        word.lower() in UNCLEAR
        for text in written
        for word in WORD.findall(NOT_FOUND.sub("", text))
    )


def count_methods(tree: ast.AST, name: str) -> int:
    """Count the methods of a class; one with overloads is one."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or node.name != name:
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(method.name)
    return len(names)


def find_repeated_classes(trees: Iterable[ast.AST]) -> list[str]:
    names = Counter(
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, count in names.items() if count > 1)


def build_import_graph(trees: Mapping[Path, ast.Module]) -> dict[str, set[str]]:
    """What each module imports of the others, wherever in its text: for types only and within functions too."""
    modules = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in trees.items()
    }
    graph: dict[str, set[str]] = {}
    for name, tree in modules.items():
        targets = set(list_imported_names(tree))
        graph[name] = {
            target if target in modules else target.rpartition(".")[0] for target in targets
        } & modules.keys() - {name}
    return graph


def list_imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)


def find_circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other (Tarjan's strongly connected components of two or more)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in order:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], order[target])
        if lowest[module] == order[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                circles.append(sorted(group))

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return circles


if __name__ == "__main__":
    sys.exit(main())
