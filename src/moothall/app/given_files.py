"""Reads what is given with a question: files, folders, standard input, PDFs, and addresses where the owner allows it.

Everything becomes text with a name, a picture in base64. What cannot be read is refused before anything is opened; a folder
leaves such files out and lists them.
"""

import os
import re
import stat
import sys
import time
from base64 import b64encode
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from moothall.app.given_secrets import describe_secrets
from moothall.app.ignore_rules import IgnoreRules
from moothall.app.pdf_files import extract_pdf
from moothall.domain.safe_text import split_address
from moothall.domain.topic import MAX_FILE_LENGTH, MAX_FILES, ContextFile, detect_picture
from moothall.errors import BadSetting, MissingExtra

if TYPE_CHECKING:
    import httpx2

FETCH: Final = "MOOT_FETCH"
"""`on`: addresses may be given, and are fetched."""
STDIN: Final = "-"
MAX_BYTES: Final = 4 * MAX_FILE_LENGTH
MAX_PDF_BYTES: Final = 50_000_000
MAX_LEFT_OUT: Final = 50
FETCH_SECONDS: Final = 60.0
READ_SECONDS: Final = 15.0
"""How long a fetched file may take in all, and how long its server may say nothing."""
MAX_REDIRECTS: Final = 5

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_IGNORED: Final = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders that hold what others wrote, or what a program made. Hidden ones are left out as well."""


@dataclass(frozen=True, slots=True)
class GivenFiles:
    files: list[ContextFile]
    left_out: tuple[str, ...] = ()


def read_given_files(
    given: Iterable[str | Path | ContextFile],
    environ: Mapping[str, str],
    *,
    allows_secrets: bool = True,
) -> GivenFiles:
    """Read all that is given with a question. Raises BadSetting with the name and the reason, MissingExtra for a PDF.

    Unless it `allows_secrets`, a folder leaves out files that hold what looks like a key or a password.
    """
    files: list[ContextFile] = []
    left_out: list[str] = []
    for each in given:
        if isinstance(each, ContextFile):
            files.append(each)
        elif str(each) == STDIN:
            if any(file.name == "stdin" for file in files):
                raise BadSetting("files: - is standard input and can be given once")
            if sys.stdin is None or sys.stdin.isatty():
                raise BadSetting(
                    "files: - is standard input, and nothing is piped in: program | moot … --file -"
                )
            files.append(build_given_file("standard input", "stdin", read_stdin()))
        elif re.match(r"https?://", str(each)):
            raw, parts = fetch_bytes(str(each), environ, MAX_PDF_BYTES), split_address(str(each))
            files.append(
                build_given_file(
                    str(each), f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/"), raw
                )
            )
        elif os.path.isdir(each):  # noqa: PTH112 - no name raises
            for path, name in _walk(Path(each)):
                try:
                    file = _read_path(path, name)
                    if file.media:
                        raise BadSetting(f"{path} is a picture; give it by itself")
                    secrets = "" if allows_secrets else describe_secrets(file.text)
                    if secrets:
                        raise BadSetting(f"{path} {secrets}")
                    files.append(file)
                except (BadSetting, MissingExtra) as cause:
                    left_out.append(f"{name}: {str(cause).removeprefix(f'{path} ')}")
                if len(files) > MAX_FILES:
                    raise BadSetting(
                        f"{each} holds more than {MAX_FILES} files; give the part that matters"
                    )
        else:
            files.append(_read_path(Path(each), _name_path(Path(each))))
    if left_out and not files:
        raise BadSetting(f"the folder holds no file that can be read: {'; '.join(left_out[:3])}")
    more = len(left_out) - MAX_LEFT_OUT
    return GivenFiles(files, (*left_out[:MAX_LEFT_OUT], *([f"… +{more}"] if more > 0 else [])))


def read_stdin() -> bytes:
    """Return what is piped in. Past the buffer of `sys.stdin`: Python crashes where it ends while a thread waits with that."""
    try:
        number = sys.stdin.fileno()
    except OSError:
        return sys.stdin.buffer.read(MAX_PDF_BYTES)
    data = bytearray()
    while len(data) < MAX_PDF_BYTES and (piece := os.read(number, 65_536)):
        data += piece
    return bytes(data)


def _name_path(path: Path) -> str:
    """A relative path is its own name, so that two files of one name differ; of any other the last part is."""
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def read_raw(path: Path) -> bytes:
    """Return what a regular file holds; raises BadSetting for anything else, and for one that is far too large."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            # A pipe or a device might never end.
            raise BadSetting(
                f"{path} is not a file; to give what a program writes, pipe it: --file -"
            )
        if status.st_size > MAX_PDF_BYTES:
            raise BadSetting(f"{path} is too large: {status.st_size} bytes")
        return path.read_bytes()
    except (OSError, ValueError) as cause:
        raise BadSetting(f"{path} cannot be read: {getattr(cause, 'strerror', cause)}") from cause


def read_text(source: str, environ: Mapping[str, str]) -> str:
    """Return one text of any length from a file, an address or, for `-`, standard input. Raises BadSetting."""
    if "://" in source:
        [file] = read_given_files([source], environ).files
        return file.text
    label = source
    if source == STDIN:
        label = "standard input"
        if sys.stdin is None or sys.stdin.isatty():
            raise BadSetting("- is standard input, and nothing is piped in: program | moot …")
        raw = read_stdin()
    else:
        raw = read_raw(Path(source))
    text = decode_text(label, raw)
    if not text.strip():
        raise BadSetting(f"{label} is empty: there is nothing to read")
    return text


def _read_path(path: Path, name: str) -> ContextFile:
    return build_given_file(str(path), name, read_raw(path))


def build_given_file(label: str, name: str, raw: bytes) -> ContextFile:
    """Return the text of a file, or a picture; raises BadSetting when it is neither."""
    if media := detect_picture(raw):
        return ContextFile(name=name, text=b64encode(raw).decode(), media=media)
    if raw.startswith(b"%PDF-"):
        return ContextFile(
            name=name, text=extract_pdf(label, raw), original=sha256(raw).hexdigest()
        )
    if len(raw) > MAX_BYTES:
        raise BadSetting(
            f"{label} is too large; at most {MAX_FILE_LENGTH} characters of a file are taken"
        )
    text = decode_text(label, raw)
    if not text.strip():
        raise BadSetting(f"{label} is empty: there is nothing to read")
    return ContextFile(name=name, text=text)


def decode_text(label: str, raw: bytes) -> str:
    """Return a text in UTF-8, in UTF-16 with its mark, or in Windows-1252 (which Latin-1 is a part of); of a diff over files of several
    encodings each line counts by itself. Raises BadSetting for what is no text."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        try:
            return raw.decode("utf-16")
        except UnicodeDecodeError as cause:
            raise BadSetting(f"{label} is not a text file in UTF-16, which it begins as") from cause
    raw = raw.removeprefix(BOM_UTF8)
    try:
        text = raw.decode()
        is_text = "\0" not in text
    except UnicodeDecodeError:
        text = "".join(map(_decode_line, raw.splitlines(keepends=True)))
        # No text has these letters; bytes of a program have.
        is_text = not _CONTROL.search(text)
    if not is_text:
        raise BadSetting(f"{label} is not a text file, a PDF or a picture (PNG, JPEG, GIF, WebP)")
    return text


def _decode_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def fetch_bytes(address: str, environ: Mapping[str, str], most: int) -> bytes:
    """What stands at an address, where the owner allows the network; raises BadSetting."""
    if environ.get(FETCH) != "on":
        raise BadSetting(
            f"{address} is on the network, which is not allowed here; set {FETCH}=on to fetch it, or save it to a file"
        )
    import httpx2

    try:
        return _fetch(address, most, time.monotonic() + FETCH_SECONDS)
    except (httpx2.HTTPError, httpx2.InvalidURL) as cause:
        raise BadSetting(f"{address} cannot be fetched: {cause}") from cause


def _fetch(address: str, most: int, deadline: float) -> bytes:
    """Fetch an address, and what it redirects to on the same host; raises BadSetting and what the library raises."""
    import httpx2

    # Not compressed: a small answer could become one that fills the memory.
    headers = {"Accept-Encoding": "identity"}
    with httpx2.Client(timeout=READ_SECONDS, headers=headers, follow_redirects=False) as client:
        asked = address
        for _ in range(MAX_REDIRECTS + 1):
            with client.stream("GET", asked) as response:
                if not response.has_redirect_location:
                    response.raise_for_status()
                    return _read_body(response, address, most, deadline)
                goal = urljoin(asked, response.headers["location"])
            if split_address(goal).netloc != split_address(address).netloc:
                raise BadSetting(
                    f"{address} leads to another place, {goal[:200]}: give that address if you trust it"
                )
            asked = goal
    raise BadSetting(f"{address} was redirected more than {MAX_REDIRECTS} times")


def _read_body(response: "httpx2.Response", address: str, most: int, deadline: float) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise BadSetting(f"{address} answers compressed, which it was asked not to")
    raw = bytearray()
    for chunk in response.iter_raw():
        raw += chunk
        if len(raw) > most:
            raise BadSetting(f"{address} is too large: more than {most} bytes")
        if time.monotonic() > deadline:
            raise BadSetting(f"{address} was not read within {FETCH_SECONDS:g} s")
    return bytes(raw)


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files of a folder with their names, in order, without those that its `.gitignore` files name."""
    top = _name_path(folder) if folder.name else folder.resolve().name
    rules = IgnoreRules()
    for place, folders, names in os.walk(folder):
        below = Path(place).relative_to(folder).as_posix()
        prefix = "" if below == "." else f"{below}/"
        rules.read(Path(place), prefix)
        folders[:] = sorted(
            each
            for each in folders
            if not each.startswith(".")
            and each not in _IGNORED
            and not rules.ignores(prefix + each, is_folder=True)
        )
        for name in sorted(names):
            path = Path(place) / name
            # A link may lead out of the folder.
            if (
                not name.startswith(".")
                and not path.is_symlink()
                and not rules.ignores(prefix + name, is_folder=False)
            ):
                yield path, f"{top}/{prefix}{name}"
