"""Long evidence is paid once (E-10): a folder is listed folded and whole, and passages are shown to who cannot look them up."""

import pytest

from moothall.domain.topic import ContextFile
from moothall.reports.given import MAX_SHOWN_LENGTH, fold_names, format_context

FOLDED = "{first}, {second} … {last} ({count} files)"


def build_files(*names: str) -> tuple[ContextFile, ...]:
    return tuple(ContextFile(name=name, text="a\nb") for name in names)


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (("notes.md",), ["notes.md (2)"]),
        (
            tuple(f"ops/f{number:03d}.md" for number in range(2, 199, 4)),
            ["ops/: f002.md, f006.md … f198.md (50 files)"],
        ),
        # A gap ends a series: every name can be told from what is shown.
        (
            ("a/f1.md", "a/f2.md", "a/f3.md", "a/f4.md", "a/f6.md"),
            ["a/: f1.md, f2.md … f4.md (4 files), f6.md (2)"],
        ),
        (("a/f1.md", "a/f2.md", "a/f3.md"), ["a/: f1.md (2), f2.md (2), f3.md (2)"]),
        (("a/x.md", "b/x.md", "a/y.md"), ["a/: x.md (2), y.md (2)", "b/: x.md (2)"]),
        (
            ("f9.md", "f10.md", "f11.md", "f12.md"),
            ["f9.md (2), f10.md (2), f11.md (2), f12.md (2)"],
        ),
    ],
)
def test_a_folder_is_listed_folded_and_whole(names: tuple[str, ...], lines: list[str]) -> None:
    """E-10: "ops/ f002 … f198, 50 files"; 103 of 203 names were left out before."""
    assert fold_names(build_files(*names), FOLDED) == lines


def test_who_has_read_the_passages_and_can_look_them_up_is_sent_the_names_alone() -> None:
    """E-10: later asks do not repeat them."""
    text = "the lease ends in March\n" * (MAX_SHOWN_LENGTH // 20)
    files = (ContextFile(name="lease.md", text=text), ContextFile(name="ops/plan.md", text="x"))
    first = format_context("en", files, "When does the lease end?")
    later = format_context("en", files, "When does the lease end?", has_read=True)
    few = format_context("en", files, "When does the lease end?", room=2_000)
    assert "the lease ends in March" in first
    assert "the lease ends in March" not in later
    assert len(later) < 800 < len(few) < len(first)
    for shown in (first, later, few):
        assert "lease.md" in shown
        assert "ops/: plan.md (1)" in shown
