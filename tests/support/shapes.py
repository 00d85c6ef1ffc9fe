"""Whether two reports are the same but for their words: a Chinese report is compared with the English one block by block."""

from dataclasses import fields, is_dataclass
from typing import Any

from moothall.reports.blocks import Report

WORDED = frozenset({"language"})
"""The fields that are not the same in two languages."""


def assert_same_shape(one: Report, other: Report) -> None:
    """The blocks have the same kinds, rows, numbers and entries; wherever one has words, the other has words."""
    left, right = _list_shapes(one), _list_shapes(other)
    for left_part, right_part in zip(left, right, strict=False):
        assert left_part == right_part
    assert len(left) == len(right), (left[len(right) :], right[len(left) :])


def _list_shapes(report: Report) -> list[Any]:
    return [
        describe_shape(block)
        for block in (*report.subtitle, *report.about, *report.decision, *report.record)
    ]


def describe_shape(value: Any) -> Any:
    """A block with every text replaced by whether there is one."""
    if isinstance(value, str):
        return bool(value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            each.name: describe_shape(getattr(value, each.name))
            for each in fields(value)
            if each.name not in WORDED
        }
        return type(value).__name__, parts
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return [describe_shape(each) for each in value]
    return value
