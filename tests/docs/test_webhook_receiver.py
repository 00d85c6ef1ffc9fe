"""The example receiver of the docs refuses what is forged or replayed."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from moothall.features.notices.receivers import sign_notice

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "webhook_receiver.py"
KEY = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]


def post(body: bytes, **headers: str) -> int:
    link = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    link.request(
        "POST", "/", body, {name.replace("_", "-"): value for name, value in headers.items()}
    )
    return link.getresponse().status


def test_the_example_receiver_refuses_forged_and_replayed_notices() -> None:
    """G-2: another key, a changed body, id or time, an old one; the same one again is acknowledged and not acted on."""
    environ = {**os.environ, "MOOT_WEBHOOK_KEY": KEY}
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE), str(PORT)], stdout=subprocess.PIPE, text=True, env=environ
    )
    try:
        body, now = (
            json.dumps({"id": "s.2.turn.ada", "text": "ada, it is your turn"}).encode(),
            int(time.time()),
        )
        right = {
            "webhook_id": "s.2.turn.ada",
            "webhook_timestamp": str(now),
            "webhook_signature": sign_notice(KEY, "s.2.turn.ada", now, body),
        }
        end = time.monotonic() + 60
        while True:
            try:
                assert post(body, **right) == 204
                break
            except ConnectionRefusedError:
                assert time.monotonic() < end
                time.sleep(0.05)
        assert post(body, **right) == 204
        old = now - 3_600
        stale = {
            "webhook_timestamp": str(old),
            "webhook_signature": sign_notice(KEY, "s.2.turn.ada", old, body),
        }
        other = sign_notice("whsec_AAAA", "s.2.turn.ada", now, body)
        for changed in (
            {"webhook_signature": other},
            {"webhook_signature": ""},
            {"webhook_id": "s.3.turn.ada"},
            {"webhook_timestamp": str(now + 1)},
            stale,
        ):
            assert post(body, **{**right, **changed}) == 401, changed
        assert post(body + b" ", **right) == 401
        assert post(body) == 401
    finally:
        process.kill()
    assert process.communicate()[0] == "s.2.turn.ada ada, it is your turn\n"


def test_the_signature_is_that_of_the_standard() -> None:
    """G-2: the published example of standardwebhooks.com."""
    body = b'{"test": 2432232314}'
    assert sign_notice(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body
    ) == ("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
