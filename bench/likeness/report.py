"""The figures as plain text."""

from collections.abc import Sequence
from typing import Final

from bench.likeness.pairs import (
    KINDS,
    LANGUAGES,
    PARTS,
    Similarity,
    Verdict,
    count_near,
    count_near_sentences,
    judge_by_words,
    one_task,
    pairs,
    share,
    verdicts,
)
from moothall.domain.facts import Language
from moothall.participants.semantic_similarity import SentenceEncoder, is_installed
from moothall.scoring.likeness import measure_by_words

NEAR_IN: Final[tuple[Language, ...]] = ("en", "zh")


def report(*, wrong: bool) -> str:
    """Everything that is measured, and the pairs that are judged wrongly if they are wanted."""
    found = {
        (language, part): verdicts(judge_by_words, language, part)
        for language in LANGUAGES
        for part in PARTS
    }
    measures: dict[str, Similarity] = {"words": measure_by_words}
    if is_installed():
        measures["meaning"] = SentenceEncoder().likeness
    parts = [_table([_row(*key, listed) for key, listed in found.items()])]
    parts.append("\n".join(_one_task(language) for language in ("en", "zh")))
    parts.append(
        "\n".join(_near(*each, language) for each in measures.items() for language in NEAR_IN)
    )
    if wrong:
        parts += [_wrong(*key, listed) for key, listed in found.items() if key[0] != "across"]
    return "\n\n".join(parts)


def _row(language: str, part: str, found: Sequence[Verdict]) -> tuple[str, ...]:
    opposed = [verdict.judgement.opposed for verdict in found if verdict.pair.kind == "opposed"]
    shares = [f"{share(found, kind):.0%}" for kind in KINDS]
    return language, part, str(len(found)), *shares, f"{sum(opposed) / len(opposed):.0%}"


def _near(name: str, measure: Similarity, language: Language) -> str:
    same = sum(pair.kind == "same" for pair in pairs(language))
    near, said = count_near_sentences(measure, language)
    return (
        f"{name}, {language}: {count_near(measure, language)} of {same} paraphrases are among the three nearest texts; "
        f"{near} of {said} sentences of explorers have their idea there"
    )


def _one_task(language: str) -> str:
    found = one_task(judge_by_words, language)
    head = f"{language}: of the {found.compared} pairs of twenty findings of one task"
    lines = [
        f"{head}, {len(found.right)} of {found.same} rightly joined, {len(found.wrong)} wrongly"
    ]
    return "\n".join([*lines, *(f"  {one} | {other}" for one, other in found.wrong)])


def _wrong(language: str, part: str, found: Sequence[Verdict]) -> str:
    """The false joins alone: what words miss is nearly everything."""
    lines = [f"{language}, {part}: judged wrongly"]
    for verdict in found:
        if not verdict.is_right and verdict.pair.kind != "same":
            pair, judgement = verdict.pair, verdict.judgement
            side = ", opposed" if judgement.opposed else ""
            lines.append(
                f"  {pair.kind:8}{judgement.likeness:.2f}{side}  {pair.one} | {pair.other}"
            )
    return "\n".join(lines)


def _table(rows: Sequence[Sequence[str]]) -> str:
    heading = (
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
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
