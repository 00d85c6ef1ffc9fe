"""Receive notices of Moot: refuse what is forged, old or was here before, and print the rest.

MOOT_WEBHOOK_KEY=whsec_… python webhook_receiver.py 9000
"""

import base64
import hmac
import json
import os
import sys
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["MOOT_WEBHOOK_KEY"].removeprefix("whsec_"))
MAX_AGE = 300
"""Seconds: what was signed longer ago, or ahead of our clock, is refused."""
SEEN: set[str] = set()
"""The ids that were handled. A program that must not act twice after a restart keeps them in its database."""


def is_genuine(headers: dict[str, str], body: bytes) -> bool:
    """Whether Moot signed exactly this, a moment ago."""
    name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > MAX_AGE:
        return False
    signature = hmac.new(KEY, f"{name}.{stamp}.".encode() + body, sha256).digest()
    expected = f"v1,{base64.b64encode(signature).decode()}"
    return any(
        hmac.compare_digest(each, expected)
        for each in headers.get("webhook-signature", "").split(" ")
    )


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("content-length", 0)), 1_000_000))
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_right = is_genuine(headers, body)
        if is_right and headers["webhook-id"] not in SEEN:
            SEEN.add(headers["webhook-id"])
            notice = json.loads(body)
            print(notice["id"], notice["text"], flush=True)
        # 204 also for one that was here before: Moot then does not send it again.
        self.send_response(204 if is_right else 401)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing but notices."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
