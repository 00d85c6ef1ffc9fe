"""Seats from what people have (A-5): the agent and skill files of coding agents, and panels at an address, pinned by their hash.

Such a file is Markdown with a head between two lines `---`:

    ---
    name: security
    description: Looks for what an attacker would use.
    model: openai:gpt-5
    ---
    You review changes for …

Its text becomes the seat's instructions and its description the stance. A `model` that is a platform of Moot's fills the
seat; any other word (`sonnet`) says nothing here, and the seat gets one of the models of the session. Tools are not taken over.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from moothall.app.given_files import fetch_bytes
from moothall.domain.ids import parse_seat_id
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.errors import BadPanel, BadRoster

KIND: Final = "agent:"
MAX_FILE_BYTES: Final = 200_000
MAX_PANEL_BYTES: Final = 1_000_000
MAX_INSTRUCTIONS_LENGTH: Final = 8_000
MAX_STANCE_LENGTH: Final = 200
_HEAD: Final = re.compile(r"\A---[ \t]*\n(?P<head>.*?)^---[ \t]*\n(?P<text>.*)\Z", re.DOTALL | re.MULTILINE)
_ROW: Final = re.compile(r"(?P<key>[A-Za-z][\w-]{0,60}):[ \t]*(?P<value>.*)")
_PINNED: Final = re.compile(r"(?P<address>https?://[^#\s]+)#sha256=(?P<hash>[0-9a-fA-F]{64})")


def build_agent_seat(name: str, platform: str, folder: Path) -> Seat:
    """The seat of `agent:FILE.md`, without a platform where the file names none of Moot's; raises BadRoster or BadName."""
    path = (folder / Path(platform.removeprefix(KIND)).expanduser()).absolute()
    what = f"the agent file {path}"
    try:
        raw = path.read_bytes()[: MAX_FILE_BYTES + 1]
        text = raw.decode().replace("\r\n", "\n").removeprefix("\ufeff")
    except OSError as cause:
        raise BadRoster(f"{what} cannot be read: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise BadRoster(f"{what} is not UTF-8") from cause
    match = _HEAD.match(text)
    if match is None:
        raise BadRoster(f"{what}: expected a head between two lines of ---, then the agent's instructions")
    head, instructions = parse_head(match["head"]), match["text"].strip()
    if not instructions:
        raise BadRoster(f"{what} has no instructions behind its head")
    if len(raw) > MAX_FILE_BYTES or len(instructions) > MAX_INSTRUCTIONS_LENGTH:
        raise BadRoster(f"{what} is too long; a seat's instructions have at most {MAX_INSTRUCTIONS_LENGTH} characters")
    model = head.get("model", "")
    return Seat(
        id=parse_seat_id(name),
        platform=model if ":" in model else "",
        stance=one_line(head.get("description", ""))[:MAX_STANCE_LENGTH],
        instructions=instructions,
    )


def parse_head(text: str) -> dict[str, str]:
    """The rows of a head: a word, a colon and a text, which may go on in indented lines. Lists and tables are passed over."""
    rows: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is not None:
            key, value = row["key"].lower(), row["value"].strip()
            rows[key] = "" if value in {"|", ">", "|-", ">-"} else value.strip("\"'")
        elif key and line[:1] in {" ", "\t"}:
            rows[key] = f"{rows[key]} {line.strip()}".strip()
    return rows


def fetch_panel(name: str, environ: Mapping[str, str]) -> str:
    """The text of a panel at an address, if it has the hash that is pinned; raises BadPanel or BadSetting."""
    pinned = _PINNED.fullmatch(name)
    if pinned is None:
        raise BadPanel(f"the panel {name[:200]}: expected ADDRESS#sha256=HASH, so that nobody can change it unseen")
    raw = fetch_bytes(pinned["address"], environ, MAX_PANEL_BYTES)
    if (actual := sha256(raw).hexdigest()) != pinned["hash"].lower():
        raise BadPanel(f"the panel at {pinned['address']} is another than the one that is pinned: its sha256 is {actual}")
    try:
        return raw.decode()
    except UnicodeDecodeError as cause:
        raise BadPanel(f"the panel at {pinned['address']} is not UTF-8") from cause
