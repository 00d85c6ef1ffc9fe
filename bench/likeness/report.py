"""The figures as plain text."""

import time
from collections.abc import Sequence

from bench.likeness.pairs import KINDS, LANGUAGES, PARTS, Measure, Verdict, judge_by_words, one_task, pairs, share, verdicts
from moothall.participants.semantic_similarity import SemanticSimilarity, is_installed


def report(*, wrong: bool) -> str:
    """Everything that is measured, and the pairs that are judged wrongly if they are wanted."""
    meaning = SemanticSimilarity()
    measures: dict[str, Measure] = {"words": judge_by_words}
    if is_installed():
        measures["meaning"] = meaning.judge
    found = {
        (name, language, part): verdicts(measure, language, part)
        for name, measure in measures.items()
        for language in LANGUAGES
        for part in PARTS
    }
    parts = [_table([_row(*key, listed) for key, listed in found.items()])]
    parts.append("\n".join(_one_task(name, measure, language) for name, measure in measures.items() for language in ("en", "zh")))
    if is_installed():
        parts.append(_cost(meaning))
    if wrong:
        parts += [_wrong(*key, listed) for key, listed in found.items() if key[1] != "across"]
    return "\n\n".join(parts)


def _row(name: str, language: str, part: str, found: Sequence[Verdict]) -> tuple[str, ...]:
    opposed = [verdict.judgement.opposed for verdict in found if verdict.pair.kind == "opposed"]
    shares = [f"{share(found, kind):.0%}" for kind in KINDS]
    return name, language, part, str(len(found)), *shares, f"{sum(opposed) / len(opposed):.0%}"


def _one_task(name: str, measure: Measure, language: str) -> str:
    found = one_task(measure, language)
    head = f"{name}, {language}: of the {found.compared} pairs of twenty findings of one task"
    lines = [f"{head}, {len(found.right)} of {found.same} rightly joined, {len(found.wrong)} wrongly"]
    return "\n".join([*lines, *(f"  {one} | {other}" for one, other in found.wrong)])


def _wrong(name: str, language: str, part: str, found: Sequence[Verdict]) -> str:
    """Of words the false joins alone: what they miss is nearly everything."""
    lines = [f"{name}, {language}, {part}: judged wrongly"]
    for verdict in found:
        if not verdict.is_right and (name != "words" or verdict.pair.kind != "same"):
            pair, judgement = verdict.pair, verdict.judgement
            side = ", opposed" if judgement.opposed else ""
            lines.append(f"  {pair.kind:8}{judgement.likeness:.2f}{side}  {pair.one} | {pair.other}")
    return "\n".join(lines)


def _cost(meaning: SemanticSimilarity) -> str:
    """The processor time of comparing one new idea with 2,000 known ones: real sentences, made different by a number."""
    texts = [text for language in ("en", "zh") for pair in pairs(language) for text in (pair.one, pair.other)]
    known = [f"{texts[index % len(texts)]} ({index})" for index in range(2_000)]
    meaning.judge(texts[0], known)
    began = time.process_time()
    meaning.judge("Store every vote twice, in two regions", known)
    return f"one new idea against 2,000 known ones: {time.process_time() - began:.2f} s of processor time"


def _table(rows: Sequence[Sequence[str]]) -> str:
    heading = (
        "measure",
        "language",
        "part",
        "pairs",
        "paraphrases joined",
        "opposites apart",
        "near topics apart",
        "opposites seen as such",
    )
    widths = [max(len(row[column]) for row in (heading, *rows)) for column in range(len(heading))]
    lines = [heading, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
