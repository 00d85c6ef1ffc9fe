"""Verifies a whole ledger: its storage, every hash chain, and that nothing is missing of which there is a witness.

Who knows how far a session went: the list of sessions (written with each entry), the register of heads, decision memory (for
sessions that ended), and heads that are stored elsewhere. The witnesses are read before the sessions: those only grow.
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from moothall.codec.chain import HEADS, ExportHead, find_chain_fault, to_datetime
from moothall.disk.private import make_private_folder, write_private
from moothall.domain.dictionaries import group_pairs
from moothall.domain.facts import Entry
from moothall.domain.ids import SessionId
from moothall.domain.records import RegisteredHead, StoredRecord
from moothall.errors import (
    BadImport,
    BadSetting,
    LedgerDamaged,
    LedgerNewer,
    LedgerUnavailable,
    MootError,
)
from moothall.memory.facts import MEMORY_KINDS, DecisionRecorded
from moothall.memory.register import HeadBook, Register, open_head_register
from moothall.ports.ledger import Clock, Ledger, LedgerUpkeep

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from moothall.engine.engine import Engine

PAGE: Final = 1_000
MEMORY: Final = SessionId("_memory")
_DAMAGE: Final = (
    LedgerDamaged,
    LedgerUnavailable,
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
)
"""How damaged pages of a file show: SQLite fails, or hands out fields of a wrong type."""
KEY_BYTES: Final = 32
_KEY_FILE: Final = "heads.key"
_TRUSTED_FILE: Final = "heads.trusted"
_PUBLIC_FILE: Final = "heads.pub"
STORED_HEADS: Final = "MOOT_HEADS"
"""The variable that says where heads are stored: a file or a folder that the writers of the ledger cannot write to."""


class KnownHead(NamedTuple):
    """A witness of an entry of a session; `seq` 0 stands for its last."""

    source: str
    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSession:
    """The result for one session or register; `head` is the hash of its last record, None if it has a fault."""

    session_id: SessionId
    fault: str | None = None
    head: str | None = None
    entries: int


@dataclass(slots=True, kw_only=True)
class LedgerVerification:
    """The result for a ledger: faults of its storage, its sessions, and what could not be checked."""

    faults: list[str] = field(default_factory=list)
    sessions: list[VerifiedSession] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        return not self.list_faults()

    def list_faults(self) -> list[str]:
        """Return what is wrong with the storage, and with which session."""
        return [
            *self.faults,
            *(f"{each.session_id}: {each.fault}" for each in self.sessions if each.fault),
        ]


class LedgerVerifier:
    """Verifies a ledger against all its witnesses; `given` are heads that are stored elsewhere, `trusted` keys that sign heads.

    With `has_archives` the files of archived sessions must be there and hold what the register has of them.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        given: Iterable[RegisteredHead] = (),
        trusted: Collection[str] = (),
        *,
        has_archives: bool = False,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._given = tuple(given)
        self._trusted = trusted
        self._has_archives = has_archives
        self._book = HeadBook()
        self._register = open_head_register(ledger, clock, self._book)
        self._unreadable: dict[SessionId, str] = {}
        self._known: dict[SessionId, list[KnownHead]] = {}
        self._result = LedgerVerification()

    async def verify_all(self) -> LedgerVerification:
        await self._collect_known(None)
        try:
            held = [SessionId(_check_text(head.session)) for head in await self._ledger.heads()]
        except _DAMAGE as error:
            self._result.faults.append(_describe(error))
            held = []
        for session in sorted({*held, *self._known} - {HEADS}):
            verified = await self._verify_stream(session)
            if verified is not None:
                self._result.sessions.append(verified)
        register = await self._verify_stream(HEADS)
        if register is not None and register.fault is not None:
            self._result.sessions.append(register)
        unknown = (
            [session for session in held if session not in self._book.heads]
            if self._book.entries
            else []
        )
        if unknown:
            names = f"{', '.join(unknown[:5])}{' …' if len(unknown) > 5 else ''}"
            self._result.notes.append(f"not registered yet: {names}; see `moot ledger heads`")
        await self._verify_archives(held)
        return self._result

    async def verify_session(self, session: SessionId) -> VerifiedSession | None:
        """Verify one session, or a register; None if there is none of that name, or it is archived."""
        await self._collect_known(session)
        verified = await self._verify_stream(session)
        return (
            None
            if verified is not None and not verified.entries and verified.fault is None
            else verified
        )

    async def verify_named(self, engine: "Engine", session: SessionId) -> VerifiedSession:
        """Verify one session, or a register; raises UnknownSession, which says where an archived one is."""
        if (verified := await self.verify_session(session)) is None:
            raise await engine.build_unknown(session)
        return verified

    async def _collect_known(self, session: SessionId | None) -> None:
        """Ask all who know how far sessions went; only for one, if it is named."""
        if isinstance(self._ledger, LedgerUpkeep):
            try:
                report = await self._ledger.inspect(session)
                self._result.faults += report.faults
                for name, (seq, digest) in report.heads.items():
                    self._know(
                        SessionId(_check_text(name)), "the list of sessions", int(seq), digest.hex()
                    )
            except _DAMAGE as error:
                self._result.faults.append(_describe(error))
        await self._fold(HEADS, self._register)
        for known in self._book.heads.values():
            self._know(known.session, "the register of heads", known.seq, known.hash)
        self._check_signed()
        for given in self._given:
            self._know(given.session, "the list of heads given", given.seq, given.hash)
        recorded: dict[str, str] = {}

        def collect(heads: dict[str, str], entry: Entry) -> dict[str, str]:
            if isinstance(entry.fact, DecisionRecorded):
                heads.setdefault(entry.fact.session, entry.fact.head)
            return heads

        register = Register(
            self._ledger, self._clock, MEMORY, kinds=MEMORY_KINDS, initial=recorded, evolve=collect
        )
        await self._fold(MEMORY, register)
        for decision, head in recorded.items():
            if head:
                self._know(SessionId(decision), "decision memory", 0, head)

    def _check_signed(self) -> None:
        """Compare with the heads that a backup was signed with."""
        if not self._book.signed:
            return
        try:
            document = parse_heads(self._book.signed)
            check_signature(document, {document.key})
        except MootError as error:
            self._result.faults.append(f"the signed heads in the register: {error}")
            return
        for head in document.heads:
            self._know(head.session, "the list of signed heads", head.seq, head.hash)
        if document.key not in self._trusted:
            key = _shorten(document.key)
            self._result.notes.append(
                f"the signed heads of {document.at} have the key {key}, which is not trusted here"
            )

    async def _fold(self, name: SessionId, register: Register[Any]) -> None:
        """Fold a register as far as it can be read: what it says before its damage is still good."""
        try:
            await register.state()
        except LedgerNewer as error:
            self._result.notes.append(str(error))
        except _DAMAGE as error:
            self._unreadable[name] = _describe(error)

    def _know(self, session: SessionId, source: str, seq: int, digest: str) -> None:
        self._known.setdefault(session, []).append(KnownHead(source, seq, digest))

    async def _verify_stream(self, session: SessionId) -> VerifiedSession | None:
        """Read a session page by page; None if it is rightly absent."""
        wanted = group_pairs((known.seq, known) for known in self._known.get(session, ()))
        entries, before, fault = 0, None, None
        try:
            while fault is None and (records := await self._ledger.read(session, entries, PAGE)):
                fault = find_chain_fault(session, records, entries, before)
                for record in records if fault is None else ():
                    fault = fault or _compare(
                        record.seq, record.hash.hex(), wanted.pop(record.seq, ())
                    )
                entries, before = records[-1].seq, records[-1].hash
        except _DAMAGE as error:
            fault = _describe(error)
        fault = fault or self._unreadable.get(session)
        if entries == 0 and fault is None:
            return await self._explain_absence(session, wanted)
        ends = wanted.pop(0, [])
        if fault is None and wanted:
            seq = max(wanted)
            what = f"entries {entries + 1} to {seq} are" if seq > entries + 1 else f"entry {seq} is"
            fault = f"{what} missing at the end: {wanted[seq][0].source} has {seq} entries"
        if fault is None and before is not None:
            fault = _compare(entries, before.hex(), ends)
        head = None if fault is not None or before is None else before.hex()
        return VerifiedSession(session_id=session, fault=fault, head=head, entries=entries)

    async def _explain_absence(
        self, session: SessionId, wanted: dict[int, list[KnownHead]]
    ) -> VerifiedSession | None:
        if session not in self._book.archived:
            # It may have been archived while the others were read.
            await self._fold(HEADS, self._register)
        archived = self._book.archived.get(session)
        if archived is not None:
            own = KnownHead("the archive", archived.head.seq, archived.head.hash)
            others = [known for each in wanted.values() for known in each]
            if all(
                (known.seq or own.seq, known.hash) == (own.seq, own.hash) or 0 < known.seq < own.seq
                for known in others
            ):
                return None
        if not wanted:
            return None
        seq = max(wanted)
        fault = f"it is missing: {wanted[seq][0].source} has it" + (
            f" with {seq} entries" if seq else ""
        )
        return VerifiedSession(session_id=session, fault=fault, head=None, entries=0)

    async def _verify_archives(self, held: Collection[SessionId]) -> None:
        """Look whether each archive is there and holds its sessions as they were registered."""
        archived = [
            each for session, each in sorted(self._book.archived.items()) if session not in held
        ]
        for file, heads in group_pairs((each.file, each.head) for each in archived).items():
            if not self._has_archives:
                self._result.notes.append(
                    f"archived sessions are in {file}, which was not looked at"
                )
                continue
            faults = await _find_archive_faults(Path(file), heads, self._clock)
            self._result.faults += [f"the archive {file}: {fault}" for fault in faults]
            if not faults:
                self._result.notes.append(
                    f"the archive {file} is intact; sessions in it: {len(heads)}"
                )


async def _find_archive_faults(
    path: Path, heads: Sequence[RegisteredHead], clock: Clock
) -> list[str]:
    from moothall.ledgers.sqlite import SqliteLedger

    try:
        async with SqliteLedger(path, read_only=True) as ledger:
            return (await LedgerVerifier(ledger, clock, heads).verify_all()).list_faults()
    except MootError as error:
        return [
            f"its sessions ({len(heads)}) cannot be read: {error}; if it is rightly elsewhere: moot verify --no-archives"
        ]


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, MootError) else f"fields cannot be read ({error})"


def _compare(seq: int, digest: str, known: Iterable[KnownHead]) -> str | None:
    source = next((each.source for each in known if each.hash != digest), None)
    return None if source is None else f"entry {seq} is not the one that {source} has"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedHeads:
    """The heads of a ledger at one moment. `key` is the public key, `signature` covers all the rest; both empty if unsigned."""

    at: str
    heads: tuple[RegisteredHead, ...]
    key: str = ""
    signature: str = ""

    def dump(self) -> str:
        """The document as text: a line for each head, so that two of them can be compared by eye."""
        lines = ",\n".join(f"  {json.dumps(list(head))}" for head in self.heads)
        return (
            f'{{"moot": "heads", "version": 1, "at": "{self.at}",\n "heads": [\n{lines}\n ],\n '
            f'"key": "{self.key}",\n "signature": "{self.signature}"}}\n'
        )

    def build_signed_bytes(self) -> bytes:
        fields = {
            "moot": "heads",
            "version": 1,
            "at": self.at,
            "heads": [list(head) for head in self.heads],
            "key": self.key,
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def parse_heads(text: str) -> SignedHeads:
    """Read a document of heads; raises BadImport."""
    try:
        fields = json.loads(text)
        if (fields["moot"], fields["version"]) != ("heads", 1):
            raise ValueError("it is of another kind, or of a newer Moot")
        return SignedHeads(
            at=_check_text(fields["at"]),
            heads=tuple(_parse_head(line) for line in fields["heads"]),
            key=_check_text(fields["key"]),
            signature=_check_text(fields["signature"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise BadImport(
            f"the file holds no heads ({cause})", command="expected what `moot ledger heads` prints"
        ) from cause


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _parse_head(line: Any) -> RegisteredHead:
    session, seq, digest = line
    if not isinstance(seq, int) or len(bytes.fromhex(digest)) != KEY_BYTES:
        raise ValueError(f"{line!r} is no head")
    return RegisteredHead(SessionId(_check_text(session)), seq, digest)


def sign_heads(folder: Path, at: datetime, heads: Iterable[RegisteredHead]) -> SignedHeads:
    """Sign heads with the key of a folder, which is made if there is none; unsigned where none can be made. Raises BadSetting."""
    draft = SignedHeads(at=at.isoformat(), heads=tuple(heads))
    try:
        key = _load_key(folder / _KEY_FILE)
    except OSError:
        return draft
    draft = replace(draft, key=key.public_key().public_bytes_raw().hex())
    return replace(draft, signature=key.sign(draft.build_signed_bytes()).hex())


def sign_export(folder: Path, session: SessionId, end: StoredRecord) -> ExportHead:
    """The first line of an export that ends with this record."""
    head = RegisteredHead(session, end.seq, end.hash.hex())
    signed = sign_heads(folder, to_datetime(end.at), [head])
    return ExportHead(*head, at=signed.at, key=signed.key, signature=signed.signature)


def describe_export_signer(folder: Path, head: ExportHead) -> str:
    """Who signed an export, in a few words; raises LedgerDamaged when its first line was changed afterwards."""
    if not head.signature:
        return "unsigned"
    document = SignedHeads(
        at=head.at, heads=(RegisteredHead(*head[:3]),), key=head.key, signature=head.signature
    )
    check_signature(document, {head.key})
    return f"{_shorten(head.key)} ({'trusted' if head.key in load_trusted(folder) else 'not trusted'} here)"


def check_signature(document: SignedHeads, trusted: Collection[str]) -> None:
    """Raise LedgerDamaged if the signature is not that of its key, BadSetting if the key is none of those that are trusted."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not document.signature:
        raise BadSetting("these heads are not signed; --unsigned compares with them all the same")
    if document.key not in trusted:
        raise BadSetting(
            f"these heads are signed with the key {_shorten(document.key)}, which is not trusted here: it may be a forger's; "
            "give the key that you stored yourself when the heads were first printed (moot ledger heads --public-key): --key FILE"
        )
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(document.key)).verify(
            bytes.fromhex(document.signature), document.build_signed_bytes()
        )
    except (InvalidSignature, ValueError) as cause:
        raise LedgerDamaged(
            "what was signed was changed afterwards: the signature does not fit"
        ) from cause


def _shorten(key: str) -> str:
    """Enough of a key to recognize it, and too little to trust it by pasting it."""
    return f"{key[:8]}…"


class StoredHeads(NamedTuple):
    """What is stored elsewhere of a ledger: `notes` say what it was, and what of it was not used."""

    heads: tuple[RegisteredHead, ...]
    notes: tuple[str, ...]


def load_stored_heads(environ: Mapping[str, str], trusted: Collection[str]) -> StoredHeads:
    """Read the heads that MOOT_HEADS names: a file, or a folder of them; raises BadSetting when it has none that are trusted.

    All of them count, not only the newest: after a rollback the newest may be those of the older copy. Where `heads.pub` lies
    beside them, its keys are trusted and no others: who has MOOT_HOME has the private key and the list of trusted ones.
    """
    word = environ.get(STORED_HEADS, "")
    if not word:
        return StoredHeads((), ())
    path = Path(word).expanduser().absolute()
    folder = path if path.is_dir() else path.parent
    with suppress(FileNotFoundError):
        trusted = set((folder / _PUBLIC_FILE).read_text(encoding="utf-8").split())
    heads: dict[RegisteredHead, None] = {}
    used: list[str] = []
    unused: list[str] = []
    for file in sorted(folder.glob("*.json")) if path.is_dir() else [path]:
        try:
            document = parse_heads(file.read_text(encoding="utf-8"))
            check_signature(document, trusted)
        except (MootError, OSError, UnicodeDecodeError) as error:
            unused.append(f"{file} is not used: {error}")
            continue
        heads |= dict.fromkeys(document.heads)
        used.append(document.at)
    if not used:
        why = (
            "; ".join(unused)
            or "there are no such files; to make one: moot ledger heads > heads-1.json in that folder"
        )
        raise BadSetting(f"{STORED_HEADS}={word} has no heads to compare with: {why}")
    return StoredHeads(
        tuple(heads),
        (f"compared with heads of {max(used)} and {len(used) - 1} earlier ones in {path}", *unused),
    )


def parse_key(text: str) -> str:
    """Read a public key: 64 hexadecimal digits, or a file that holds them; raises BadSetting."""
    word = text.strip()
    with suppress(OSError, ValueError):
        word = (
            Path(word).read_text(encoding="utf-8").strip() if len(word) != 2 * KEY_BYTES else word
        )
    try:
        if len(bytes.fromhex(word)) == KEY_BYTES:
            return word.lower()
    except ValueError:
        pass
    raise BadSetting(
        f"{text!r} is no public key; expected 64 hexadecimal digits or a file of them: moot ledger heads --public-key"
    )


def load_public_key(folder: Path) -> str:
    """The public key of a folder, whose key is made if there is none; raises OSError or BadSetting."""
    return _load_key(folder / _KEY_FILE).public_key().public_bytes_raw().hex()


def load_trusted(folder: Path) -> set[str]:
    """The public keys that a folder trusts: its own, and those that were pinned."""
    trusted = {load_public_key(folder)} if (folder / _KEY_FILE).exists() else set()
    with suppress(FileNotFoundError, NotADirectoryError):
        trusted |= set((folder / _TRUSTED_FILE).read_text(encoding="utf-8").split())
    return trusted


def pin_key(folder: Path, key: str, *, is_own: bool = False) -> None:
    """Trust a public key from now on; also this folder's own, if it is about to have another."""
    if is_own or key not in load_trusted(folder):
        make_private_folder(folder)
        with os.fdopen(
            os.open(folder / _TRUSTED_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w"
        ) as file:
            file.write(f"{key}\n")


def rotate_key(folder: Path) -> str:
    """Make a new key for heads and return its public one; what the old one signed stays trusted, and its secret is erased."""
    if (folder / _KEY_FILE).exists():
        pin_key(folder, load_public_key(folder), is_own=True)
        write_private(folder / _KEY_FILE, os.urandom(KEY_BYTES).hex(), over=True)
    return load_public_key(folder)


def _load_key(path: Path) -> "Ed25519PrivateKey":
    """Read the private key, or make one that nobody else can read."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    make_private_folder(path.parent)
    if not path.exists():
        write_private(path, os.urandom(KEY_BYTES).hex(), over=False)
    try:
        key = bytes.fromhex(path.read_text(encoding="utf-8").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadSetting(
            f"{path} holds no key; expected 64 hexadecimal digits. Move it away, and a new one is made"
        )
    return Ed25519PrivateKey.from_private_bytes(key)
