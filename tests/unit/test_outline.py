"""W-2: each item of a timeline leads to an entry of the ledger."""

from moothall.reports.blocks import Line
from moothall.reports.outline import TimelineItem, _fill_entries


def fill(*seqs: int, begin: int = 0) -> list[int]:
    items = [TimelineItem(seq=seq, at="", block=Line("said")) for seq in seqs]
    _fill_entries(items, begin)
    return [item.seq for item in items]


def test_what_has_no_entry_of_its_own_leads_to_the_next_one_else_to_the_last() -> None:
    assert fill(0, 3, 0, 0, 5, 0) == [3, 3, 5, 5, 5, 5]
    assert fill(0, 0) == [1, 1], "where nothing has an entry, to the opening"
    assert fill(4, 0, 0, begin=1) == [4, 4, 4], "what was filled before is the last one"
