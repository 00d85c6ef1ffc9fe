"""The checks that every ledger makes before it writes."""

from collections.abc import Sequence
from itertools import pairwise

from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import SeqConflict


def check_order(session: SessionId, records: Sequence[StoredRecord]) -> None:
    """Raise SeqConflict if the numbers of a batch are not consecutive."""
    for before, record in pairwise(records):
        if record.seq != before.seq + 1:
            raise SeqConflict(session, record.seq, before.seq)


def check_head(session: SessionId, records: Sequence[StoredRecord], head: int) -> None:
    """Raise SeqConflict if a batch does not start directly after the head."""
    if records[0].seq != head + 1:
        raise SeqConflict(session, records[0].seq - 1, head)
