"""Notices by chat and mail: an address of the library apprise (the extra `notify`), sent by a process of its own.

The library blocks, and what it connects to may never answer: its process is ended at the deadline, whatever it does. The
address is a secret: the process reads it from its standard input, and nothing that the library logs is shown.
"""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from moothall.errors import MissingExtra, describe_install
from moothall.participants.hosts import is_private_host
from moothall.participants.subprocess_runner import run_program
from moothall.plugins import BadSetting

if TYPE_CHECKING:
    from apprise import NotifyBase

SEND_SECONDS: Final = 60.0
"""How long a message may take in all: mail servers make strangers wait."""
_PASSED_ON: Final = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


def check_chat_address(url: str, *, is_private: bool) -> None:
    """Raises MissingExtra, and BadSetting where the library does not know such an address; the message does not repeat it."""
    scheme = url.partition("://")[0][:20]
    try:
        service = _load_service(url)
    except ImportError as cause:
        raise MissingExtra(
            f"{scheme}:// is chat or mail, which needs an extra package: {describe_install('notify')}"
        ) from cause
    if service is None:
        raise BadSetting(
            f"{scheme}://… is not a whole address of a known service; see https://appriseit.com/services/"
        )
    host = str(getattr(service, "host", None) or "")
    if is_private_host(host) and not is_private:
        raise BadSetting(
            f"{host} is on this machine or in a private network; add it with --private if that is meant"
        )


async def send_chat_message(url: str, title: str, text: str) -> str:
    """Send a message once; why it was not taken, "" if it was."""
    command = [sys.executable, "-P", "-m", __name__]
    environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    words = json.dumps([url, disarm_mentions(title), disarm_mentions(text)]).encode()
    try:
        async with asyncio.timeout(SEND_SECONDS):
            done = await run_program(command, words=words, folder=Path(sys.prefix), environ=environ)
    except TimeoutError:
        return f"no answer within {SEND_SECONDS:g} s"
    if done.code == 2:
        return f"the extra package is missing: {describe_install('notify')}"
    return (
        "the service did not take it; `apprise -vv -b test ADDRESS` says why" if done.code else ""
    )


def disarm_mentions(text: str) -> str:
    """The text so that words of participants call nobody: chats read @all and <!channel>."""
    return text.replace("@", "@\u200b").replace("<", "<\u200b")


def _load_service(url: str) -> "NotifyBase | None":
    from apprise import Apprise, AppriseAsset

    logging.getLogger("apprise").disabled = True
    # A redirect could lead to a place that the owner did not name.
    service: NotifyBase | None = Apprise.instantiate(
        url, asset=AppriseAsset(http_redirects=False), suppress_exceptions=True
    )
    return service


def main() -> int:
    """Send what standard input says; 0 if it was taken."""
    url, title, text = json.load(sys.stdin)
    try:
        service = _load_service(url)
    except ImportError:
        return 2
    from apprise import Apprise, NotifyFormat

    sender = Apprise()
    if not service or not sender.add(service):
        return 1
    is_taken = sender.notify(text, title, body_format=NotifyFormat.TEXT)
    return 0 if is_taken else 1


if __name__ == "__main__":
    sys.exit(main())
