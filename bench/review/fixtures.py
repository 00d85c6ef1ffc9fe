"""Changes with seeded defects of eight kinds, and clean ones; made by code, so that every place is known."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

SUBJECTS: Final = ("order", "user", "invoice", "job", "ticket")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A change to one function: before, after it as it should be, and after it with a defect in `line`."""

    concern: str
    before: str
    clean: str
    broken: str
    line: str
    claim: str


TEMPLATES: Final = (
    Template(
        concern="logic",
        before="""\
def total_{s}s({s}s):
    result = 0
    for each in {s}s:
        result += each.price
    return result
""",
        clean="""\
def total_{s}s({s}s):
    result = 0
    for at in range(len({s}s)):
        result += {s}s[at].price
    return result
""",
        broken="""\
def total_{s}s({s}s):
    result = 0
    for at in range(len({s}s) - 1):
        result += {s}s[at].price
    return result
""",
        line="for at in range(len({s}s) - 1):",
        claim="The last {s} is left out of the total.",
    ),
    Template(
        concern="security",
        before="""\
def find_{s}(db, name):
    return db.execute('SELECT * FROM {s}s WHERE name = ?', (name,))
""",
        clean="""\
def find_{s}(db, name, limit=10):
    query = 'SELECT * FROM {s}s WHERE name = ? LIMIT ?'
    return db.execute(query, (name, limit))
""",
        broken="""\
def find_{s}(db, name, limit=10):
    query = f"SELECT * FROM {s}s WHERE name = '{{name}}' LIMIT {{limit}}"
    return db.execute(query)
""",
        line="query = f\"SELECT * FROM {s}s WHERE name = '{{name}}' LIMIT {{limit}}\"",
        claim="A name with a quote changes the query for the {s}.",
    ),
    Template(
        concern="errors",
        before="""\
def save_{s}(store, {s}):
    store.write({s})
    return True
""",
        clean="""\
def save_{s}(store, {s}):
    try:
        store.write({s})
    except StoreFull:
        return False
    return True
""",
        broken="""\
def save_{s}(store, {s}):
    try:
        store.write({s})
    except Exception:
        pass
    return True
""",
        line="except Exception:",
        claim="A failed write of the {s} is reported as saved.",
    ),
    Template(
        concern="resources",
        before="""\
def read_{s}(path):
    with open(path) as file:
        return file.read()
""",
        clean="""\
def read_{s}(path):
    with open(path, encoding='utf-8') as file:
        return file.read()
""",
        broken="""\
def read_{s}(path):
    file = open(path, encoding='utf-8')
    return file.read()
""",
        line="file = open(path, encoding='utf-8')",
        claim="The file of the {s} is never closed.",
    ),
    Template(
        concern="concurrency",
        before="""\
def count_{s}(counter):
    with counter.lock:
        counter.{s}s += 1
""",
        clean="""\
def count_{s}(counter, by=1):
    with counter.lock:
        counter.{s}s += by
""",
        broken="""\
def count_{s}(counter, by=1):
    counter.{s}s += by
""",
        line="counter.{s}s += by",
        claim="Two threads that count a {s} at once lose one of them.",
    ),
    Template(
        concern="interface",
        before="""\
def send_{s}(to, body):
    mail.send(to, body)

def remind_{s}({s}):
    send_{s}({s}.owner, 'due')
""",
        clean="""\
def send_{s}(to, body, subject=''):
    mail.send(to, body, subject)

def remind_{s}({s}):
    send_{s}({s}.owner, 'due')
""",
        broken="""\
def send_{s}(body, to, subject=''):
    mail.send(to, body, subject)

def remind_{s}({s}):
    send_{s}({s}.owner, 'due')
""",
        line="def send_{s}(body, to, subject=''):",
        claim="The callers of send_{s} pass the arguments in the old order.",
    ),
    Template(
        concern="tests",
        before="""\
def test_{s}_is_priced():
    assert price({s}()) == 10
""",
        clean="""\
def test_{s}_is_priced():
    assert price({s}()) == 10
    assert price({s}(count=2)) == 20
""",
        broken="""\
def test_{s}_is_priced():
    assert price({s}()) == 10
    assert (price({s}(count=2)), 20)
""",
        line="assert (price({s}(count=2)), 20)",
        claim="The second check of the {s} can never fail.",
    ),
    Template(
        concern="clarity",
        before="""\
def list_open_{s}s({s}s):
    # Those that are not closed yet.
    return [each for each in {s}s if not each.closed]
""",
        clean="""\
def list_open_{s}s({s}s):
    # Those that are not closed yet, the oldest first.
    return sorted((each for each in {s}s if not each.closed), key=age)
""",
        broken="""\
def list_open_{s}s({s}s):
    # Those that are not closed yet, the newest first.
    return sorted((each for each in {s}s if not each.closed), key=age)
""",
        line="# Those that are not closed yet, the newest first.",
        claim="The comment says the opposite of the order in which a {s} comes.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """A change. `concern`, `line` and `claim` say what was seeded; empty in a clean one."""

    name: str
    diff: str
    lines: tuple[str, ...]
    """The added lines, which an inventing reviewer quotes."""
    concern: str = ""
    line: str = ""
    claim: str = ""


def build_fixtures() -> list[Fixture]:
    """Return 40 changes with one defect each, five of each kind, and 24 clean ones."""
    return [*_build_broken(), *_build_clean()]


def _build_broken() -> Iterator[Fixture]:
    for template in TEMPLATES:
        for subject in SUBJECTS:
            line, claim = template.line.format(s=subject), template.claim.format(s=subject)
            yield _build(
                template, subject, template.broken, concern=template.concern, line=line, claim=claim
            )


def _build_clean() -> Iterator[Fixture]:
    for template in TEMPLATES:
        for subject in SUBJECTS[:3]:
            yield _build(template, subject, template.clean)


def build_fixture(template: Template, subject: str, name: str, *, is_broken: bool) -> Fixture:
    """Return one change of a file of this name, with the defect of its template or clean."""
    if not is_broken:
        return _build(template, subject, template.clean, name=name)
    line, claim = template.line.format(s=subject), template.claim.format(s=subject)
    return _build(
        template,
        subject,
        template.broken,
        name=name,
        concern=template.concern,
        line=line,
        claim=claim,
    )


def _build(
    template: Template,
    subject: str,
    after: str,
    *,
    name: str = "",
    concern: str = "",
    line: str = "",
    claim: str = "",
) -> Fixture:
    name = name or f"src/{template.concern}_{subject}.py"
    before, new = template.before.format(s=subject), after.format(s=subject)
    diff = unified_diff(before.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}")
    text = "".join(diff)
    added = tuple(
        each[1:].strip()
        for each in text.splitlines()
        if each.startswith("+") and not each.startswith("+++")
    )
    return Fixture(name=name, diff=text, lines=added, concern=concern, line=line, claim=claim)
