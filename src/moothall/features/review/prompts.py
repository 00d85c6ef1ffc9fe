"""The prompts of a review, and how its answers are read: pure functions of bounded length."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from moothall.domain.answer_table import quote_open_inputs
from moothall.domain.effects import UnreadItem
from moothall.domain.topic import list_input_numbers
from moothall.features.review import facts
from moothall.features.review.change import ChangedFile, read_change
from moothall.features.review.state import Review
from moothall.features.review.words import (
    DENIALS,
    PLAIN_HAN,
    REVIEW_PROMPT,
    REVIEW_REPORT,
    SEVERITY_WORDS,
    ReviewPromptText,
)
from moothall.plugins import (
    PARTICIPANT_PROMPT,
    WHY,
    WORDS,
    AnswerForm,
    AnswerRules,
    Answers,
    Ask,
    BadAnswer,
    Brief,
    ContextFile,
    Language,
    Normalized,
    PersonAsk,
    PersonStep,
    Schema,
    allow_list,
    allow_values,
    ask_words,
    build_key,
    compile_late,
    dump_json,
    fill_brief,
    introduce_seat,
    narrow_fields,
    narrow_schema,
    one_line,
    person_steps,
    quote_lines,
    quote_user,
    read_two_sides,
    reads_tree,
    shorten_text,
)
from moothall.reading.field_values import fold_name

# The lines before the claim that they show, the claim before its severity, a reason before the stand that rests on it: the
# order in which a model writes them. The evidence says where it stands, whatever the line; a concern in words of one's own is no
# reason to lose the claim.
FINDING_FIELDS: Final[Mapping[str, bool]] = {
    "evidence": True,
    "file": True,
    "line": False,
    "claim": True,
    "concern": False,
    "severity": True,
    "settles": False,
    "fix": False,
}
"""The fields of a finding in the order in which they are asked for, and whether each is needed."""
STAND_FIELDS: Final[Mapping[str, bool]] = {"finding": True, "reason": False, "stand": True}
MAX_SHOWN_LENGTH: Final = 800
"""How much of one claim, quotation or reason a prompt shows."""
_SEVERITIES: Final = {
    word.lower(): code
    for words in REVIEW_REPORT.list_all()
    for code, word in words.severities.items()
}
"""The severities by their words in every language."""
_WORDS: Final = sorted(SEVERITY_WORDS, key=len, reverse=True)
"""Other words for them. A claim may begin with one, such as "error handling is missing": they count before a mark."""
_TYPED: Final = compile_late(
    r"[\s*-]*+(?P<file>[^\s:：][^\n:：]{0,400}+)[:：]\s?(?P<line>\d{1,7})[\s:：,，、(（]*+"
    rf"(?:(?P<severity>{'|'.join(_SEVERITIES)})(?![a-z])|(?P<word>{'|'.join(_WORDS)})(?=\s?[:：,，、)）–—]))"
    r"[\s:：,，、)）。.–—-]*+(?P<claim>\S.*)",
    re.IGNORECASE,
)
"""How a person writes a finding: `src/app.py:12 major the loop never ends`."""
MAX_SEVERITY_LENGTH: Final = 60
"""A longer text is no word for a severity."""
_LATIN: Final = compile_late(r"[^\W\d_\u3400-\u9fff]+")
_HAN: Final = compile_late(r"[\u3400-\u9fff]+")
_GRADE: Final = compile_late(r"(?<![^\W_])(p|sev)(?:erity)?[\s._-]{0,3}([0-5])(?![^\W_])")
"""A severity by its number, as trackers and rotas have it: "P0", "SEV-2"."""
_NOTHING: Final = compile_late(r"\W*(?:none|nothing|no findings|无|没有)\W*", re.IGNORECASE)


def read_severity(text: str) -> facts.Severity | None:
    """Return the severity that a text means; of two, as in "medium to high", the worse. None if it names none.

    What denies a word ("not critical") is not read: its author is asked, or the finding is shown as not read.
    """
    if len(text) > MAX_SEVERITY_LENGTH:
        return None
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = _LATIN.findall(plain)
    for name, number in _GRADE.findall(plain):
        words.append(f"{name}{number}")
    for han in _HAN.findall(plain):
        words += _split_han(han)
    if not DENIALS.isdisjoint(words):
        return None
    meant = set(map(SEVERITY_WORDS.get, words))
    for severity in facts.SEVERITIES:
        if severity in meant:
            return severity
    return None


def _split_han(text: str) -> list[str]:
    """Return the one word for a severity in Chinese, or the denials before it; nothing where other words stand there."""
    for word in PLAIN_HAN:
        text = text.replace(word, "")
    if not text or text in SEVERITY_WORDS:
        return [text]
    return list(DENIALS.intersection(text))


def _keep_unread(
    said: facts.FindingsReport | facts.StandsReport, items: Sequence[UnreadItem]
) -> object:
    """Put what could not be read on the record, with its severity where that can be read."""
    unread = list(map(_build_unread, items))
    # The worst first: of very many the others are cut.
    unread.sort(key=lambda each: facts.SEVERITIES.index(each.severity or "critical"))
    return replace(said, unread=tuple(unread[: facts.MAX_FINDINGS]))


def _build_unread(item: UnreadItem) -> facts.UnreadFinding:
    given = item.given if isinstance(item.given, str) else dump_json(item.given, default=str)
    severity: facts.Severity | None = None
    fields = item.given if isinstance(item.given, Mapping) else {}
    for name, value in fields.items():
        if fold_name(str(name)) == "severity":
            severity = read_severity(str(value))
    room = facts.MAX_UNREAD_LENGTH - 1
    return facts.UnreadFinding(
        given=shorten_text(one_line(given), room),
        why=shorten_text(one_line(item.why), room),
        severity=severity,
    )


FORMS: Final = {
    kind: AnswerForm(
        kind=kind,
        reply=reply,
        shape=shape,
        form="json",
        max_tokens=tokens,
        readers=(("severity", read_severity),),
        asides=frozenset({"evidence", "reason", "settles", "fix"}),
        keep_unread=_keep_unread,
    )
    for kind, reply, shape, tokens in (
        (facts.INSPECT, facts.ChangeInspected, facts.FindingsReport, 4_000),
        (facts.CHECK, facts.FindingsWeighed, facts.StandsReport, 3_000),
        (facts.SETTLE, facts.FindingsWeighed, facts.StandsReport, 3_000),
    )
}


def build_answer_rules(state: Review, ask: Ask) -> AnswerRules:
    return AnswerRules(
        form=FORMS[ask.kind],
        normalize=_normalize_stands,
        person=partial(build_person_ask, state, ask),
    )


def _normalize_stands(said: object) -> Normalized:
    if not isinstance(said, facts.StandsReport):
        return said, ()
    stands, notes = read_two_sides("stands", said.stands, "finding", "stand", "unsure")
    return replace(said, stands=stands), notes


def build_brief(state: Review, ask: Ask) -> Brief:
    """Build the brief of an ask: a part of the change, or the findings that the seat is to weigh."""
    words = REVIEW_PROMPT[state.opened.language]
    lines = introduce_seat(state.opened.language, state.seat(ask.seat))
    if ask.kind != facts.INSPECT:
        is_settling = ask.kind == facts.SETTLE
        for finding in state.list_questions(ask.seat):
            described = _describe_finding(state, words, finding, with_reasons=is_settling)
            lines += ["", *described]
    now = words.now["answer" if ask.seat == facts.AUTHOR else ask.kind]
    shared = PARTICIPANT_PROMPT[state.opened.language]
    lines += ["", shared.heads["now"], now.strip()]
    if reads_tree(state.opened, state.seat(ask.seat)):
        lines.append(words.tree)
    if state.open_inputs:
        lines.append(shared.to_user.format(inputs=list_input_numbers(state.open_inputs)))
    return fill_brief(
        state,
        ask,
        build_answer_rules(state, ask),
        nth=ask.turn if ask.kind == facts.INSPECT else 1,
        shared=_build_shared_prompt(state, words),
        own="\n".join(lines),
        schema=_build_schema(state, ask),
        explains_fields=True,
        shows_given=True,
    )


def describe_change(files: Iterable[ContextFile], language: Language) -> str:
    """The question of a review for which none was written: the files, and how many lines were added and removed."""
    change = read_change(tuple(each for each in files if not each.media))
    added, removed = (
        sum(line.mark == mark for file in change for line in file.lines) for mark in "+-"
    )
    names = shorten_text(", ".join(one_line(file.name) for file in change), 300)
    return REVIEW_PROMPT[language].topic.format(
        files=f"{names} (+{added} −{removed})" if added or removed else names
    )


def _get_part(state: Review) -> tuple[ChangedFile, ...]:
    return state.parts[state.turn - 1] if 0 < state.turn <= len(state.parts) else ()


def _build_shared_prompt(state: Review, words: ReviewPromptText) -> str:
    topic = state.opened.topic
    quote = quote_user
    if topic == describe_change(state.opened.subject.given, state.opened.language):
        # Nobody wrote it: the names in it are those of the change.
        quote = quote_lines
    lines = [words.task, quote(topic)]
    if state.kind == facts.INSPECT:
        lines += ["", words.change.format(part=state.turn, parts=len(state.parts))]
        for file in _get_part(state):
            lines += [words.file.format(name=one_line(file.name)), quote_lines(file.render())]
    return "\n".join(lines)


def _describe_finding(
    state: Review, words: ReviewPromptText, finding: facts.MergedFinding, *, with_reasons: bool
) -> list[str]:
    place = f"{one_line(finding.file)}:{finding.first}"
    lines = [
        words.finding.format(
            number=finding.number, place=place, severity=finding.severity, concern=finding.concern
        ),
        quote_lines(shorten_text(finding.claim, MAX_SHOWN_LENGTH)),
        words.evidence,
        quote_lines(shorten_text(finding.evidence, MAX_SHOWN_LENGTH)),
        words.context,
        quote_lines(_show_around(state, finding)),
    ]
    for stand in state.stands.get(finding.number, {}).values() if with_reasons else ():
        if stand.reason:
            lines += [
                words.stood[stand.stand],
                quote_lines(shorten_text(stand.reason, MAX_SHOWN_LENGTH // 2)),
            ]
    return lines


def _show_around(state: Review, finding: facts.MergedFinding) -> str:
    """The lines of the change around a finding: who weighs it need not have them in mind."""
    for file in chain.from_iterable(state.parts):
        if file.name != finding.file:
            continue
        near = [line for line in file.lines if finding.first - 6 <= line.number <= finding.last + 6]
        if any(line.number == finding.first for line in near):
            return shorten_text(ChangedFile(file.name, tuple(near)).render(), 2 * MAX_SHOWN_LENGTH)
    return ""


def _build_schema(state: Review, ask: Ask) -> Schema:
    to_user = ("to_user",) if state.open_inputs else ()
    if ask.kind == facts.INSPECT:
        names = tuple(dict.fromkeys(file.name for file in _get_part(state)))
        item = narrow_fields(facts.RaisedFinding, FINDING_FIELDS, file=allow_values(names))
        return narrow_schema(
            facts.FindingsReport, ("findings",), to_user, findings=allow_list(item, 40)
        )
    numbers = [each.number for each in state.list_questions(ask.seat)]
    item = narrow_fields(facts.FindingStand, STAND_FIELDS, finding=allow_values(numbers))
    return narrow_schema(facts.StandsReport, ("stands",), to_user, stands=allow_list(item, 40))


def build_person_ask(state: Review, ask: Ask) -> PersonAsk:
    """Build what a person is asked: a line for each finding, or a stand on each finding of others."""
    words = REVIEW_PROMPT[state.opened.language]
    added = [part for part in [quote_open_inputs(state)] if part]
    if ask.kind == facts.INSPECT:
        shown = [
            f"{words.file.format(name=one_line(file.name))}\n{quote_lines(file.render())}"
            for file in _get_part(state)
        ]
        return PersonAsk(
            steps=(ask_words(words.person_inspect),),
            about="\n".join([*added, *shown]),
            build=lambda answers: {"findings": read_typed_findings(state, answers[WORDS])},
        )
    findings = state.list_questions(ask.seat)
    steps: list[PersonStep] = []
    about = [*added]
    for each in findings:
        group = str(each.number)
        about += _describe_finding(state, words, each, with_reasons=ask.kind == facts.SETTLE)
        steps += person_steps.ask_which_and_why(
            state.opened.language, words.person_stand.format(number=group), words.stand_words, group
        )

    def build(answers: Answers) -> dict[str, Any]:
        numbers = [each.number for each in findings]
        return {
            "stands": [
                {
                    "finding": number,
                    "stand": answers.get(build_key(person_steps.POSITION, str(number)), "unsure"),
                    "reason": _strip_label(answers.get(build_key(WHY, str(number)), ""), words),
                }
                for number in numbers
            ]
        }

    return PersonAsk(steps=tuple(steps), about="\n".join(about), build=build)


def _strip_label(reason: str, words: ReviewPromptText) -> str:
    """Return a reason without the word before it that was read as the stand."""
    label, mark, rest = reason.replace("：", ":", 1).partition(":")
    if mark and label.strip().casefold() in {*words.stand_words, *words.stand_words.values()}:
        return rest.strip()
    return reason


def _read_typed_severity(match: re.Match[str]) -> str | None:
    if match["severity"]:
        return _SEVERITIES[match["severity"].lower()]
    return read_severity(match["word"])


def read_typed_findings(state: Review, text: str) -> list[dict[str, Any]]:
    """Return the findings in lines such as `src/app.py:12 major the loop never ends`; the evidence is the line that is named.

    Raises BadAnswer for a line that is none.
    """
    lines: dict[tuple[str, int], str] = {}
    for file in _get_part(state):
        for line in file.lines:
            if line.mark != "-":
                lines[file.name, line.number] = line.text
    written = [line for line in text.splitlines() if line.strip() and not _NOTHING.fullmatch(line)]
    typed = [match for match in map(_TYPED.match, written) if match is not None]
    # An objection that is not understood, or of which nothing can be quoted, must not become an approval.
    if len(typed) < len(written):
        unread = next(line for line in written if _TYPED.match(line) is None)
        words = REVIEW_PROMPT[state.opened.language]
        raise BadAnswer(f"{shorten_text(one_line(unread), 80)!r}: {words.person_inspect}")
    for match in typed:
        if not lines.get((match["file"].strip(), int(match["line"])), "").strip():
            raise BadAnswer(
                f"{match['file'].strip()}:{match['line']} is no line with words of this part of the change; name one"
            )
    findings: list[dict[str, Any]] = []
    for match in typed:
        name, number = match["file"].strip(), int(match["line"])
        findings.append(
            {
                "file": name,
                "line": number,
                "severity": _read_typed_severity(match),
                "claim": match["claim"].strip(),
                "evidence": lines[name, number].strip(),
            }
        )
    return findings
