"""What every ledger checks before it writes."""

from collections.abc import Sequence
from itertools import pairwise

from moot.domain.ids import SessionId
from moot.domain.records import StoredRecord
from moot.errors import SeqConflict


def check_order(session: SessionId, records: Sequence[StoredRecord]) -> None:
    """Refuse a batch that has a gap within itself."""
    for before, record in pairwise(records):
        if record.seq != before.seq + 1:
            raise SeqConflict(session, record.seq, before.seq)


def check_head(session: SessionId, records: Sequence[StoredRecord], head: int) -> None:
    """Refuse a batch that does not begin right behind the head."""
    if records[0].seq != head + 1:
        raise SeqConflict(session, records[0].seq - 1, head)
