"""The export of a session: its records as lines of JSON, which another ledger can import."""

import json
from collections.abc import Iterable
from typing import Final

from moothall.codec.chain import to_datetime
from moothall.domain.ids import SessionId, parse_session_id
from moothall.domain.records import StoredRecord
from moothall.errors import BadImport
from moothall.reports.json_text import dump_json

EXPORT_VERSION: Final = 2
"""The version of what `moot export SESSION jsonl` writes; version 1 was never released."""


def dump_export_head(session: SessionId) -> str:
    """Render the first line of an export."""
    return json.dumps({"moot": EXPORT_VERSION, "session": session}, ensure_ascii=False) + "\n"


def dump_export_lines(records: Iterable[StoredRecord]) -> str:
    """Render records as lines of an export."""
    lines: list[str] = []
    for record in records:
        head = json.dumps({"seq": record.seq, "at": record.at, "hash": record.hash.hex()})
        # The body is stored text and its hash depends on every byte: it is written as a JSON string, not parsed and written
        # again.
        lines.append(f'{head[:-1]}, "body": {dump_json(record.body.decode())}}}\n')
    return "".join(lines)


def parse_export(text: str) -> tuple[SessionId, list[StoredRecord]]:
    """Parse an export into its session id and records; raises BadImport."""
    try:
        # Not `splitlines`: it also splits at characters such as U+2028, which JSON allows unescaped inside strings.
        head, *lines = [json.loads(line) for line in text.split("\n") if line.strip()]
        records = [
            StoredRecord(int(line["seq"]), int(line["at"]), line["body"].encode(), bytes.fromhex(line["hash"])) for line in lines
        ]
        session = parse_session_id(head["session"])
        version = head["moot"]
        for record in records:
            to_datetime(record.at)  # a time beyond the calendar is refused here, before anything is imported
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as cause:
        raise BadImport(f"the file is not a Moot export ({cause}); expected what `moot export SESSION jsonl` writes") from cause
    if version == EXPORT_VERSION - 1:
        raise BadImport(
            "the file was exported by a Moot from before its first release, which this one does not read; hold the session anew"
        )
    if version != EXPORT_VERSION or not records:
        raise BadImport("the file is an export of a newer Moot, or holds no entries; expected `moot export SESSION jsonl`")
    return session, records
