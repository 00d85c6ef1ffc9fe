"""Heads of a ledger to keep elsewhere: a document, signed with an Ed25519 key of this machine."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from moothall.domain.head_facts import RegisteredHead
from moothall.domain.ids import SessionId
from moothall.errors import BadImport, BadSetting, LedgerDamaged

KEY_BYTES: Final = 32
_KEY_FILE: Final = "heads.key"
_TRUSTED_FILE: Final = "heads.trusted"


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
        fields = {"moot": "heads", "version": 1, "at": self.at, "heads": [list(head) for head in self.heads], "key": self.key}
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
        raise BadImport(f"the file holds no heads ({cause}); expected what `moot heads` prints") from cause


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _parse_head(line: Any) -> RegisteredHead:
    session, seq, digest = line
    if not isinstance(seq, int) or len(bytes.fromhex(digest)) != KEY_BYTES:
        raise ValueError(f"{line!r} is no head")
    return RegisteredHead(SessionId(_check_text(session)), seq, digest)


def sign_heads(folder: Path, at: datetime, heads: Iterable[RegisteredHead]) -> SignedHeads:
    """Sign heads with the key of a folder, which is made if there is none; raises OSError or BadSetting."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(_load_key(folder / _KEY_FILE))
    draft = SignedHeads(at=at.isoformat(), heads=tuple(heads), key=key.public_key().public_bytes_raw().hex())
    return SignedHeads(at=draft.at, heads=draft.heads, key=draft.key, signature=key.sign(draft.build_signed_bytes()).hex())


def check_signature(document: SignedHeads, trusted: set[str]) -> None:
    """Raise LedgerDamaged if the signature is not that of its key, BadSetting if the key is none of those that are trusted."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not document.signature:
        raise BadSetting("these heads are not signed; --unsigned compares with them all the same")
    if document.key not in trusted:
        raise BadSetting(
            f"these heads are signed with the key {document.key}, which is not trusted here; "
            f"if it is the right one: --key {document.key}"
        )
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(document.key)).verify(
            bytes.fromhex(document.signature), document.build_signed_bytes()
        )
    except (InvalidSignature, ValueError) as cause:
        raise LedgerDamaged("the heads were changed after they were signed: the signature does not fit") from cause


def parse_key(text: str) -> str:
    """Read a public key: 64 hexadecimal digits, or a file that holds them; raises BadSetting."""
    word = text.strip()
    with suppress(OSError, ValueError):
        word = Path(word).read_text(encoding="utf-8").strip() if len(word) != 2 * KEY_BYTES else word
    try:
        if len(bytes.fromhex(word)) == KEY_BYTES:
            return word.lower()
    except ValueError:
        pass
    raise BadSetting(f"{text!r} is no public key; expected 64 hexadecimal digits or a file with them: moot heads --public-key")


def load_public_key(folder: Path) -> str:
    """The public key of a folder, whose key is made if there is none; raises OSError or BadSetting."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(_load_key(folder / _KEY_FILE)).public_key().public_bytes_raw().hex()


def load_trusted(folder: Path) -> set[str]:
    """The public keys that a folder trusts: its own, and those that were pinned."""
    trusted = {load_public_key(folder)} if (folder / _KEY_FILE).exists() else set()
    with suppress(FileNotFoundError):
        trusted |= set((folder / _TRUSTED_FILE).read_text(encoding="utf-8").split())
    return trusted


def pin_key(folder: Path, key: str) -> None:
    """Trust a public key from now on."""
    if key not in load_trusted(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(folder / _TRUSTED_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
            file.write(f"{key}\n")


def _load_key(path: Path) -> bytes:
    """Read the private key, or make one that nobody else can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(os.urandom(KEY_BYTES).hex() + "\n")
            file.flush()
            os.fsync(descriptor)
    try:
        key = bytes.fromhex(path.read_text(encoding="utf-8").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadSetting(f"{path} holds no key; expected 64 hexadecimal digits. Move it away, and a new one is made")
    return key
