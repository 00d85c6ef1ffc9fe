"""What was given with a question, as seats read it in a prompt and as people read it in a report."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from moothall.domain.budget import GIVEN_TOOLS
from moothall.domain.facts import Language, Opened
from moothall.domain.given_search import (
    MAX_LINE_LENGTH,
    Passage,
    number_lines,
    search_files,
    split_lines,
)
from moothall.domain.roster import TOOLLESS, Seat, parse_kind
from moothall.domain.safe_text import compile_late, one_line, quote_lines
from moothall.domain.topic import ContextFile, Frame, Topic
from moothall.locale.catalogues import CONTEXT_FILES, FRAMING, SHARED_REPORT, ContextFilesText
from moothall.reports import blocks

MAX_SHOWN_LENGTH: Final = 120_000
"""Characters of files that a prompt shows whole."""
SEARCHED_LENGTH: Final = 24_000
"""Characters of passages that it shows in their place where there is more."""
LOOKED_UP_LENGTH: Final = 8_000
"""The same for a seat that reads and searches the files itself."""
MIN_SERIES: Final = 4
"""Fewer names than these are listed one by one."""
MAX_REPORTED_LENGTH: Final = 20_000
"""Characters of one file that a report shows; the export has all."""
MAX_WHOLE_LENGTH: Final = 4_000
"""A file that was cited and is not longer is shown whole in the report of a session that is over; of a longer one passages are."""
LINES_AROUND: Final = 3
"""So many lines stand before and behind a cited one."""
_NUMBERED: Final = compile_late(r"(?P<before>.*?)(?P<number>\d{1,9})(?P<after>\D*)")
"""A name with its last number."""
_PAGE: Final = compile_late(r"\[page (\d+)\]")


def fits_prompt(context: tuple[ContextFile, ...]) -> bool:
    """Whether a prompt has room for the files as they are."""
    return sum(len(each.text) for each in context) <= MAX_SHOWN_LENGTH


def count_shown(context: tuple[ContextFile, ...]) -> int:
    """How many characters of the files a prompt shows."""
    return sum(len(each.text) for each in context) if fits_prompt(context) else SEARCHED_LENGTH


def list_tool_names(
    opened: Opened, seat: Seat, context: tuple[ContextFile, ...]
) -> tuple[str, ...]:
    """Return the tools of a seat that is shown these files."""
    rules = opened.tools
    if rules.switch == "off":
        return ()
    has_files = bool(context) and (rules.switch == "on" or not fits_prompt(context))
    reads = has_files or opened.tree is not None
    return tuple(name for name in seat.tools or rules.names if reads or name not in GIVEN_TOOLS)


def reads_tree(opened: Opened, seat: Seat) -> bool:
    """Whether a seat may read and search the repository of a session: a model, which has tools for it."""
    if opened.tree is None or parse_kind(seat.platform) in TOOLLESS:
        return False
    return not set(GIVEN_TOOLS).isdisjoint(list_tool_names(opened, seat, ()))


def can_look_up(opened: Opened, seat: Seat, context: tuple[ContextFile, ...]) -> bool:
    """Whether a seat has tools over these files, and a participant that can call them."""
    has_tools = not set(GIVEN_TOOLS).isdisjoint(list_tool_names(opened, seat, context))
    return has_tools and parse_kind(seat.platform) not in TOOLLESS


def find_passage_room(opened: Opened, seat: Seat, context: tuple[ContextFile, ...]) -> int:
    """Return how many characters of passages a seat is shown: long evidence goes to who cannot look it up (E-10)."""
    if can_look_up(opened, seat, context):
        return LOOKED_UP_LENGTH
    return SEARCHED_LENGTH


def is_read_by_tools(opened: Opened, seat: Seat, context: tuple[ContextFile, ...]) -> bool:
    """Whether a seat is shown passages alone although all would fit: a model that reads the files itself."""
    return fits_prompt(context) and can_look_up(opened, seat, context)


@lru_cache(maxsize=16)
def format_context(
    language: Language,
    context: tuple[ContextFile, ...],
    goal: str = "",
    *,
    is_searched: bool = False,
    has_read: bool = False,
    room: int = SEARCHED_LENGTH,
) -> str:
    """The files below each other, every line of them with its number and behind a mark.

    Where they are too long for a prompt, or `is_searched`: their names, and the passages that have to do with the question; these
    are left out for a seat that `has_read` them and can look them up again.
    """
    words = CONTEXT_FILES[language]
    parts = [words.heading, words.cite]
    if not is_searched and fits_prompt(context):
        for each in context:
            text = words.absent
            if each.text:
                text = number_lines(Passage(each.name, 1, split_lines(each.text)))
            parts.append(f"{words.file.format(name=each.name)}\n{quote_lines(text)}")
        return "\n".join(parts)
    why = words.to_read if is_searched else words.too_long
    parts += [why, quote_lines("\n".join(fold_names(context, words.folded)))]
    if has_read:
        return "\n".join([*parts, words.passages_read])
    parts.append(words.passages)
    for passage in search_files(context, goal, room):
        parts.append(
            f"{words.file.format(name=passage.place)}\n{quote_lines(number_lines(passage))}"
        )
    return "\n".join(parts)


def fold_names(context: tuple[ContextFile, ...], folded: str) -> list[str]:
    """Return the names of all files, a line for each folder: names that differ by a number in equal steps stand for each other.

    `folded` words such a series: `f002.md, f006.md … f198.md (50 files)`.
    """
    folders: dict[str, list[ContextFile]] = {}
    for each in context:
        folder, slash, _ = each.name.rpartition("/")
        folders.setdefault(folder + slash, []).append(each)
    lines: list[str] = []
    for folder, files in folders.items():
        shown = ", ".join(_fold_series(files, len(folder), folded))
        lines.append(f"{one_line(folder)}: {shown}" if folder else shown)
    return lines


def _fold_series(files: list[ContextFile], prefix: int, folded: str) -> list[str]:
    """Return the names of one folder without its own, each with its number of lines; a series by its ends."""
    shown: list[str] = []
    start = 0
    while start < len(files):
        end = _find_series_end(files, start)
        names = [one_line(each.name[prefix:]) for each in files[start:end]]
        if len(names) < MIN_SERIES:
            end = start + 1
            shown.append(f"{names[0]} ({len(split_lines(files[start].text))})")
        else:
            first, second, last = names[0], names[1], names[-1]
            shown.append(folded.format(first=first, second=second, last=last, count=len(names)))
        start = end
    return shown


def _find_series_end(files: list[ContextFile], start: int) -> int:
    """Return where a series of names ends that begins at a place: the same letters, numbers of one width in equal steps."""
    known = _NUMBERED.fullmatch(files[start].name)
    end, step = start + 1, 0
    while known is not None and end < len(files):
        other = _NUMBERED.fullmatch(files[end].name)
        if other is None or other["before"] != known["before"] or other["after"] != known["after"]:
            break
        width = len(other["number"]) == len(known["number"])
        gap = int(other["number"]) - int(known["number"])
        # The first two names say the step of all.
        if not width or gap < 1 or step not in {0, gap}:
            break
        known, step, end = other, gap, end + 1
    return end


def format_pictures(language: Language, pictures: tuple[ContextFile, ...]) -> str:
    """The names of the pictures, in the order in which a model that takes them is sent them."""
    names = "\n".join(f"{each.name} ({each.media}, {format_size(each.size)})" for each in pictures)
    return f"{CONTEXT_FILES[language].pictures}\n{quote_lines(names)}"


def format_size(size: int) -> str:
    """A number of bytes for people."""
    if size < 1_000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1_000:.1f} kB"
    return f"{size / 1_000_000:.1f} MB"


def describe_frame(opened: Opened) -> str:
    """Return what kind of question it is, its answers, and who listed them (Q-1); empty without a frame."""
    frame, words = opened.frame, SHARED_REPORT[opened.language]
    if frame is None or (frame.kind == "open" and frame.made_by == "moot"):
        return ""
    kind, maker = words.framed_kinds[frame.kind], words.framed_makers[frame.made_by]
    maker = maker.format(model=one_line(frame.model))
    if not frame.answers:
        return words.framed["bare"].format(kind=kind, maker=maker)
    listed = [_mark_added(each, frame, opened.language) for each in frame.answers]
    answers = " / ".join(listed) + words.framed["or_none"]
    return words.framed["line"].format(kind=kind, answers=answers, maker=maker)


def _mark_added(answer: str, frame: Frame, language: Language) -> str:
    """Return an answer, with a mark where the question does not name it."""
    shown = one_line(answer)
    return FRAMING[language].added.format(answer=shown) if answer in frame.added else shown


def describe_framing(opened: Opened) -> list[str]:
    """Return what else is known of the question, a line each: its frame, what it takes for granted, what counts, the call."""
    words, frame, call = FRAMING[opened.language], opened.frame, opened.framing
    lines = [describe_frame(opened)]
    if frame is not None and frame.assumes:
        lines.append(words.assumes.format(assumes=one_line(frame.assumes)))
    if frame is not None and frame.criteria:
        quoted = words.between_criteria.join(map(one_line, frame.criteria))
        lines.append(words.criteria.format(criteria=quoted))
    if call is not None:
        model = one_line(call.model or call.platform)
        tokens = call.usage.tokens_in + call.usage.tokens_out
        lines.append(words.asked.format(model=model, tokens=tokens))
        if call.fault is not None:
            fault = words.faults[call.fault]
            lines[-1] = words.not_framed.format(model=model, fault=fault)
    return [line for line in lines if line]


def summarize_given(language: Language, subject: Topic) -> str:
    """What was given, in one line for the head of a report; empty where nothing was."""
    given = subject.given
    if not given:
        return ""
    named = [
        f"{each.name} ({format_size(each.size)}, SHA-256 {(each.original or each.sha256)[:12]}…)"
        for each in given[:5]
    ]
    if len(given) > 5:
        named.append(f"+{len(given) - 5}")
    return CONTEXT_FILES[language].given.format(files=", ".join(named))


def build_given(
    language: Language,
    subject: Topic,
    citing: tuple[tuple[str, int, tuple[int, ...]], ...] = (),
    *,
    is_over: bool = False,
) -> tuple[blocks.Block, ...]:
    """Each file with its size and hash, its text folded, a PDF page by page; and what of a folder was left out.

    `citing` are the lines that entries cite: they are marked with the numbers of those, and shown however long the file is. While
    a session runs, people who take part read the files here; of one that `is_over` a report has what was cited, and lists the rest.
    """
    words = CONTEXT_FILES[language]
    content: list[blocks.Block] = []
    not_cited: list[ContextFile] = []
    room = 10 * MAX_REPORTED_LENGTH
    for each in subject.context:
        cited = {number: entries for file, number, entries in citing if file == each.name}
        if is_over and not cited:
            not_cited.append(each)
            continue
        if is_over and len(each.text) > MAX_WHOLE_LENGTH:
            lines, left = _select_passages(each, cited)
        else:
            lines, left = _select_lines(each, min(MAX_REPORTED_LENGTH, room), cited)
        room -= len(each.text) - left
        content.append(_build_file(each, lines, left, cited, words))
    if not_cited:
        content.append(_list_files(not_cited, words))
    for each in subject.pictures:
        fields = blocks.Fields(((words.media, each.media), (words.hash, each.original)))
        content.append(
            blocks.Details(f"{one_line(each.name)} · {format_size(each.size)}", (fields,))
        )
    if subject.unseen_by:
        content.append(
            blocks.Line(words.unseen_by.format(seats=", ".join(subject.unseen_by)), "warn")
        )
    if subject.left_out:
        content.append(
            blocks.Details(
                words.left_out, (blocks.Bullets(tuple(map(one_line, subject.left_out))),)
            )
        )
    return blocks.build_section(words.section, content)


def _build_file(
    file: ContextFile,
    lines: Mapping[int, str],
    left: int,
    cited: Mapping[int, tuple[int, ...]],
    words: ContextFilesText,
) -> blocks.Block:
    """One file, folded: its hashes, these lines of it, and how much of it is left out."""
    fields = blocks.build_fields(
        (
            (words.hash, file.original or file.sha256),
            (words.text_hash, file.original and file.sha256),
        )
    )
    pages = [("", dict(lines))]
    if file.original:
        pages = _split_pages(lines, words.page)
    parts: list[blocks.Block] = [fields]
    parts += [_build_page(title, shown, cited) for title, shown in pages if shown]
    if left:
        parts.append(blocks.Line(words.more.format(count=left), "dim"))
    elif not file.text:
        parts.append(blocks.Line(words.absent, "dim"))
    return blocks.Details(f"{one_line(file.name)} · {format_size(file.size)}", tuple(parts))


def _list_files(files: Sequence[ContextFile], words: ContextFilesText) -> blocks.Block:
    """The files of which nothing was cited, folded: name, size and hash of each."""
    rows: list[tuple[blocks.Cell, ...]] = []
    for each in files:
        rows.append((one_line(each.name), format_size(each.size), each.original or each.sha256))
    table = blocks.build_table((words.file_name, words.file_size, words.hash), rows)
    return blocks.Details(words.not_cited.format(count=len(files)), (table,))


def _select_passages(file: ContextFile, cited: Iterable[int]) -> tuple[dict[int, str], int]:
    """The cited lines of a file with some around each, by their numbers; how much of the file is left out."""
    lines = split_lines(file.text)
    wanted: set[int] = set()
    for number in cited:
        wanted.update(range(number - LINES_AROUND, number + LINES_AROUND + 1))
    shown: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        # A page of a PDF without its head would be taken for a part of the one before.
        is_head = bool(file.original) and _PAGE.fullmatch(line) is not None
        if number in wanted or is_head:
            shown[number] = line[:MAX_LINE_LENGTH]
    if file.original:
        shown = _drop_empty_pages(shown)
    return shown, max(0, len(file.text) - sum(len(line) + 1 for line in shown.values()))


def _drop_empty_pages(lines: Mapping[int, str]) -> dict[int, str]:
    """Return the lines without the heads of pages that have no other line here."""
    filled: dict[int, str] = {}
    numbers = sorted(lines)
    for place, number in enumerate(numbers):
        is_head = _PAGE.fullmatch(lines[number]) is not None
        following = numbers[place + 1] if place + 1 < len(numbers) else None
        if is_head and (following is None or _PAGE.fullmatch(lines[following])):
            continue
        filled[number] = lines[number]
    return filled


def _select_lines(file: ContextFile, room: int, cited: Iterable[int]) -> tuple[dict[int, str], int]:
    """The first lines of a file for which there is room, by their numbers, with those that are cited; how much is left out."""
    lines, shown = split_lines(file.text) if file.text else (), dict[int, str]()
    for number, line in enumerate(lines, 1):
        if room <= 0:
            break
        shown[number] = line[:room]
        room -= len(line) + 1
    heads = [
        number for number, line in enumerate(lines, 1) if file.original and _PAGE.fullmatch(line)
    ]
    for number in (each for each in cited if each not in shown):
        # Under the head of its own page, which may stand behind the part that is shown as well.
        for each in (*heads[: bisect_right(heads, number)][-1:], number):
            shown[each] = lines[each - 1][:MAX_LINE_LENGTH]
    return dict(sorted(shown.items())), max(
        0, len(file.text) - sum(len(line) + 1 for line in shown.values())
    )


def _split_pages(lines: Mapping[int, str], title: str) -> list[tuple[str, dict[int, str]]]:
    """The lines of a PDF by its pages, which begin as `given_files` writes them."""
    pages: list[tuple[str, dict[int, str]]] = [("", {})]
    for number, line in lines.items():
        if match := _PAGE.fullmatch(line):
            pages.append((title.format(number=match[1]), {}))
        pages[-1][1][number] = line
    return pages


def _build_page(
    title: str, lines: Mapping[int, str], cited: Mapping[int, tuple[int, ...]]
) -> blocks.Block:
    """Numbered lines, those that are cited with the entries that do; folded under a title where there is one."""
    shown: list[str] = []
    marked: list[int] = []
    citing: set[int] = set()
    for place, (number, line) in enumerate(lines.items()):
        text = f"{number}: {line}"
        if number in cited:
            text += f"  ← {_join_entries(cited[number])}"
            marked.append(place)
            citing.update(cited[number])
        shown.append(text)
    page = blocks.Preformatted(tuple(shown), tuple(marked))
    if not title:
        return page
    if citing:
        title += f" · ← {_join_entries(sorted(citing))}"
    return blocks.Details(title, (page,))


def _join_entries(entries: Iterable[int]) -> str:
    return ", ".join(f"#{entry}" for entry in entries)
