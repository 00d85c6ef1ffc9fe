"""The tools of seats as models read them, and what seats looked up, as people read it: in a report, between the lines of a
timeline, and while it happens. What tools return is data: fenced, and of given files with the place of every line.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from moothall.domain.budget import FREE, GIVEN_TOOLS, ToolOutcome, Usage
from moothall.domain.facts import Language, ToolUsed
from moothall.domain.given_search import (
    Passage,
    number_lines,
    read_lines,
    search_files,
    split_lines,
)
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import one_line, quote_lines, shorten_text
from moothall.domain.topic import ContextFile
from moothall.locale.catalogues import CONTEXT_FILES, ContextFilesText
from moothall.reports import blocks
from moothall.reports.timeline import SessionTimeline, ToolLine

MAX_RESULT_LENGTH: Final = 6_000
"""Characters of one result that a seat reads, and that are recorded."""
MAX_ARGUMENTS_LENGTH: Final = 1_000
MAX_NAMED: Final = 20
READ, SEARCH = GIVEN_TOOLS

_TEXT: Final = {"type": "string"}
_LINE: Final = {"type": "integer", "minimum": 1}
_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    READ: {
        "type": "object",
        "properties": {"file": _TEXT, "first": _LINE, "last": _LINE},
        "required": ["file"],
    },
    SEARCH: {"type": "object", "properties": {"words": _TEXT}, "required": ["words"]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool as it is described to a model."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call came to; `places` are the lines of given files in it."""

    text: str
    outcome: ToolOutcome = "answered"
    places: tuple[str, ...] = ()
    usage: Usage = FREE
    returned: str = ""
    """All that a tool returned, where that is more than `text` shows."""


def list_tools(
    language: Language, names: Collection[str] = GIVEN_TOOLS, *, is_tree: bool = False
) -> tuple[OfferedTool, ...]:
    """Return the tools of these names that a seat may call where files were given, or with `is_tree` a repository."""
    words = CONTEXT_FILES[language]
    descriptions = words.tools
    if is_tree:
        descriptions = words.tree
    offered = {name: schema for name, schema in _SCHEMAS.items() if name in names}
    return tuple(
        OfferedTool(name=name, description=descriptions[name], schema=schema)
        for name, schema in offered.items()
    )


def run_tool(
    language: Language, files: tuple[ContextFile, ...], name: str, arguments: Mapping[str, Any]
) -> ToolResult:
    """Run a call over these files alone; a call that cannot be run gets a sentence that says what was expected."""
    return {READ: _read, SEARCH: _search}[name](CONTEXT_FILES[language], files, arguments)


def check_call(
    language: Language, tools: Collection[OfferedTool], name: str, arguments: object
) -> Mapping[str, Any] | ToolResult:
    """Return the arguments of a call that can be made; for any other one, what the model is answered."""
    words = CONTEXT_FILES[language]
    tool = next((each for each in tools if each.name == name), None)
    if tool is None:
        return refuse_call(
            words, "unknown_tool", tool=name, tools=", ".join(each.name for each in tools)
        )
    given = _parse_arguments(arguments)
    if given is None or not given.keys() >= set(tool.schema.get("required") or ()):
        return refuse_call(words, "bad_arguments", tool=name, fields=_describe_fields(tool.schema))
    return given


def report_failure(language: Language, tool: str, reason: str) -> ToolResult:
    """Return what a model is answered where a tool did not do its work."""
    return replace(
        refuse_call(CONTEXT_FILES[language], "failed", tool=tool, reason=reason), outcome="failed"
    )


def quote_returned(
    language: Language, title: str, returned: str, outcome: ToolOutcome = "answered"
) -> ToolResult:
    """Return what a tool of another program returned, as much of it as is read, behind a fence."""
    words, room = CONTEXT_FILES[language], MAX_RESULT_LENGTH - 1_000
    # Cut twice: a fence before each of many short lines takes its room, too.
    text = quote_lines(returned[:room])[:room]
    left = [words.tool_cut.format(count=len(returned) - room)] if len(returned) > room else []
    return ToolResult(
        text="\n".join((f"[{one_line(title)}]", text, *left)), outcome=outcome, returned=returned
    )


def encode_arguments(arguments: object) -> str:
    """The arguments of a call as they are recorded, whatever a model wrote for them."""
    given = _parse_arguments(arguments)
    if given is None:
        text = str(arguments or "")
    else:
        text = json.dumps(given, ensure_ascii=False, default=str)
    return one_line(text)[:MAX_ARGUMENTS_LENGTH]


def format_tool_uses(language: Language, uses: Iterable[ToolUsed]) -> str:
    """What a seat has looked up for an ask, as it reads it in its prompt; empty where it has not."""
    words = CONTEXT_FILES[language]
    parts = [
        f"{words.use.format(tool=one_line(each.tool), arguments=each.arguments)}\n{each.result}"
        for each in uses
    ]
    return "\n".join((words.looked_up, *parts)) if parts else ""


def _read(
    words: ContextFilesText, files: tuple[ContextFile, ...], given: Mapping[str, Any]
) -> ToolResult:
    name, first = str(given.get("file", "")), _parse_line(given.get("first"), 1)
    last = _parse_line(given.get("last"), None)
    if not name or first is None or (last is None and given.get("last") is not None):
        return refuse_call(
            words, "bad_arguments", tool=READ, fields=_describe_fields(_SCHEMAS[READ])
        )
    file = next((each for each in files if each.name == name), None)
    if file is None:
        shown = ", ".join(each.name for each in files[:MAX_NAMED])
        return refuse_call(
            words, "unknown_file", file=name, files=shown + (" …" if len(files) > MAX_NAMED else "")
        )
    count = len(split_lines(file.text))
    if first > count or (last is not None and last < first):
        return refuse_call(words, "no_lines", file=name, count=count)
    passage = read_lines(file, first, count if last is None else last, MAX_RESULT_LENGTH - 1_000)
    end = first + len(passage.lines) - 1
    notes = (
        [words.read_on.format(count=count, next=end + 1)] if end < min(count, last or count) else []
    )
    return ToolResult(
        text="\n".join((_format_passage(words, passage), *notes)), places=(passage.place,)
    )


def _search(
    words: ContextFilesText, files: tuple[ContextFile, ...], given: Mapping[str, Any]
) -> ToolResult:
    query = given.get("words")
    if not isinstance(query, str) or not query.strip():
        return refuse_call(
            words, "bad_arguments", tool=SEARCH, fields=_describe_fields(_SCHEMAS[SEARCH])
        )
    passages = search_files(files, query[:MAX_ARGUMENTS_LENGTH], MAX_RESULT_LENGTH - 1_000)
    if not passages:
        return ToolResult(text=words.no_passages)
    text = "\n".join(_format_passage(words, each) for each in passages)
    return ToolResult(text=text, places=tuple(each.place for each in passages))


def _format_passage(words: ContextFilesText, passage: Passage) -> str:
    return (
        f"{words.file.format(name=one_line(passage.place))}\n{quote_lines(number_lines(passage))}"
    )


def refuse_call(words: ContextFilesText, refusal: str, /, **values: object) -> ToolResult:
    """Return what a model is answered to a call that is not made."""
    named = {key: one_line(str(value))[:MAX_ARGUMENTS_LENGTH] for key, value in values.items()}
    return ToolResult(text=words.refusals[refusal].format(**named), outcome="refused")


def _parse_arguments(arguments: object) -> Mapping[str, Any] | None:
    """Return the fields of a call; None where it has none that can be read."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, Mapping) else None


def _parse_line(value: object, missing: int | None) -> int | None:
    """Return the number of a line, also one that is written as a text; None for what is no number."""
    if value is None:
        return missing
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 12:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _describe_fields(schema: Mapping[str, Any]) -> str:
    kinds = {
        field: kind.get("type") if isinstance(kind, Mapping) else ""
        for field, kind in schema["properties"].items()
    }
    return ", ".join(
        f"{field} ({kind})" if isinstance(kind, str) and kind else field
        for field, kind in kinds.items()
    )


MAX_SHOWN: Final = 200
MAX_SHOWN_LENGTH: Final = 2_000
MAX_WORDS_LENGTH: Final = 160


def describe_tool_use(timeline: SessionTimeline, fact: ToolUsed) -> str:
    """One line: who called what. What was looked up says as much as an answer does, and is sealed with it."""
    words = CONTEXT_FILES[timeline.language]
    if timeline.shared_state.is_sealed:
        return words.tool_sealed.format(seat=one_line(fact.seat))
    line = words.tool_line.format(
        seat=one_line(fact.seat),
        tool=one_line(fact.tool),
        arguments=shorten_text(fact.arguments, MAX_WORDS_LENGTH),
    )
    came = words.outcomes[fact.outcome]
    if fact.outcome == "answered":
        came = ", ".join(map(one_line, fact.places))
    return f"{line} → {shorten_text(came, MAX_WORDS_LENGTH) or '–'}"


def build_tool_use(timeline: SessionTimeline, use: ToolLine) -> blocks.Details:
    """One use of a tool: its line, and folded below it what was called, what came back, and how long that took."""
    words, fact = CONTEXT_FILES[timeline.language], use.fact
    result = words.tool_result.format(outcome=words.outcomes[fact.outcome], size=fact.size)
    fields = (
        (words.tool_arguments, f"{one_line(fact.tool)} {fact.arguments}"),
        (words.tool_places, result),
        (words.hash, fact.sha256),
        (words.tool_seconds, f"{fact.seconds:g} s"),
    )
    lines = shorten_text(fact.result, MAX_SHOWN_LENGTH).split("\n")
    return blocks.Details(
        f"[{use.seq}] {describe_tool_use(timeline, fact)}",
        (blocks.Fields(fields), blocks.Preformatted(tuple(lines))),
    )


def list_tool_uses(timeline: SessionTimeline) -> list[ToolLine]:
    """Return the uses that may be read now."""
    return [] if timeline.shared_state.is_sealed else timeline.tool_uses


def build_tool_uses(timeline: SessionTimeline) -> tuple[blocks.Block, ...]:
    """The section of a report on what was looked up."""
    uses = list_tool_uses(timeline)
    words = CONTEXT_FILES[timeline.language]
    shown = [
        timeline.build_once(("tool", use.seq), (), partial(build_tool_use, timeline, use))
        for use in uses[:MAX_SHOWN]
    ]
    if len(uses) <= MAX_SHOWN:
        return blocks.build_section(words.tool_uses, shown)
    more = blocks.Line(words.tool_more.format(count=len(uses) - MAX_SHOWN), "dim")
    return blocks.build_section(words.tool_uses, (*shown, more))
