"""Change the source at random, one place at a time, and see whether a test fails: python -m checks.mutate_source [--seed 7]

Each mutation is made in the file, the tests that are nearest to it by imports run first, then wider ones, and the file is written
back. A test that fails is run again without the mutation: one that fails then, too, has found nothing. Printed is what happened
to each, and the survivors at the end; the exit code is their number. Run it in a clone with an environment of its own, on a quiet
machine: tests start processes that import the installed source.
"""

import argparse
import ast
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from checks.nearest_tests import ROOT, choose_tests, find_by_words

SOURCE = ROOT / "src" / "moothall"
STAGE_SECONDS = 420
NEAREST = ("tests/unit", "tests/conformance", "tests/integration")
WIDER = (*NEAREST, "tests/acceptance", "tests/docs")
MAX_NEAREST, MAX_WIDER = 4, 12
TEST_FAILURES = frozenset({1, 2})
"""How pytest ends if a test fails, or if one cannot be imported any more."""
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Mod: "*",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    path: Path
    line: int
    start: int
    """Where the replaced text begins and ends, in characters of the file."""
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def describe(self, source: str) -> str:
        before = source.splitlines()[self.line - 1].strip()
        after = self.apply(source).splitlines()[self.line - 1].strip()
        return f"{self.path.relative_to(ROOT)}:{self.line}\n    - {before}\n    + {after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--list", action="store_true", help="print the mutations, run nothing")
    options = parser.parse_args()
    survivors = []
    for number, mutation in enumerate(
        draw_mutations(random.Random(options.seed), options.count), start=1
    ):
        source = mutation.path.read_text(encoding="utf-8")
        print(f"{number:2d}  {mutation.describe(source)}", flush=True)
        if options.list:
            continue
        began = time.monotonic()
        fate = try_mutation(mutation, source)
        print(f"    {fate} ({time.monotonic() - began:.0f} s)", flush=True)
        if fate.startswith("survives"):
            survivors.append(mutation.describe(source))
    if not options.list:
        print(f"\n{len(survivors)} of {options.count} survive")
        print("\n".join(survivors))
    return len(survivors)


def draw_mutations(chance: random.Random, count: int) -> list[Mutation]:
    """Places in proportion to the code: a file with twice as many of them is drawn twice as often."""
    paths = sorted(SOURCE.rglob("*.py"))
    every = [mutation for path in paths for mutation in find_mutations(path)]
    chance.shuffle(every)
    return list(islice(filter(is_valid, every), count))


def is_valid(mutation: Mutation) -> bool:
    """Whether it can be parsed: an operator may stand between parentheses that are not its own."""
    try:
        ast.parse(mutation.apply(mutation.path.read_text(encoding="utf-8")))
    except SyntaxError:
        return False
    return True


def find_mutations(path: Path) -> Iterator[Mutation]:
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    encoded = source.encode()

    def find_place(node: ast.expr) -> tuple[int, int]:
        first, last = (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
        )
        return len(encoded[:first].decode()), len(encoded[:last].decode())

    def build(node: ast.expr, start: int, end: int, text: str) -> Mutation:
        return Mutation(
            path=path, line=source.count("\n", 0, start) + 1, start=start, end=end, text=text
        )

    def replace_between(left: ast.expr, right: ast.expr, text: str) -> Iterator[Mutation]:
        begin, end = find_place(left)[1], find_place(right)[0]
        found = re.fullmatch(r"([\s)]*)([^\s()#]+(?: [^\s()#]+)?)([\s(]*)", source[begin:end])
        # An operator with a comment beside it is left alone.
        if found:
            yield build(left, begin + found.start(2), begin + found.end(2), text)

    for node in walk_code(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield from replace_between(left, right, COMPARISONS[type(operator)])
            case ast.BoolOp(op=operator, values=[left, right]):
                yield from replace_between(
                    left, right, "or" if isinstance(operator, ast.And) else "and"
                )
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                yield from replace_between(left, right, OPERATORS[type(operator)])
            case ast.Constant(value=bool(value)):
                yield build(node, *find_place(node), str(not value))
            case ast.Constant(value=int(value)):
                yield build(node, *find_place(node), str(value + 1))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield build(node, find_place(node)[0], find_place(operand)[0], "")
            case ast.IfExp(body=body, orelse=other):
                start, end = find_place(node)
                (a, b), (c, d) = find_place(body), find_place(other)
                yield build(node, start, end, source[c:d] + source[b:c] + source[a:b])


def walk_code(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose change could be seen: texts, imports for types and the options of dataclasses are left out."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.JoinedStr) or is_for_types(child) or is_dataclass(child):
            continue
        yield child
        yield from walk_code(child)


def is_for_types(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def is_dataclass(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "dataclass"
    )


def try_mutation(mutation: Mutation, source: str) -> str:
    nearest = choose_tests([mutation.path], NEAREST)[:MAX_NEAREST]
    wider = [
        path
        for path in (
            *find_by_words(mutation.path, WIDER)[: MAX_WIDER // 2],
            *choose_tests([mutation.path], WIDER),
        )
        if path not in nearest
    ]
    for name, tests in (("nearest", nearest), ("wider", list(dict.fromkeys(wider))[:MAX_WIDER])):
        mutation.path.write_text(mutation.apply(source), encoding="utf-8")
        try:
            failed = run_tests([str(test.relative_to(ROOT)) for test in tests]) if tests else ()
        except subprocess.TimeoutExpired:
            return f"not answered in time by the {name} tests"
        finally:
            mutation.path.write_text(source, encoding="utf-8")
        if failed and not run_tests(failed):
            return f"found by the {name} tests"
    return "survives"


def run_tests(tests: Sequence[str]) -> tuple[str, ...]:
    """Which of the tests failed first: their names, or all of these if not even one could be imported."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-rfE",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=STAGE_SECONDS,
        check=False,
    )
    if done.returncode not in TEST_FAILURES:
        return ()
    return tuple(re.findall(r"^(?:FAILED|ERROR) (\S+::\S+)", done.stdout, re.MULTILINE)) or tuple(
        tests
    )


if __name__ == "__main__":
    sys.exit(main())
