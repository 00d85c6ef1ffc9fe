"""Traces by OpenTelemetry, from a real server to a collector that decodes them; one that is down or slow holds up nobody."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import DEADLINE, Cli
from tests.acceptance.server import Client, Server
from tests.support.otlp_receiver import OtlpReceiver

from moothall.errors import describe_install

DEMO = "debate"
STOP_SECONDS = 20.0
"""Far less than a collector may take to answer, far more than a busy machine needs."""


def play_demo(client: Client) -> tuple[str, list[Any]]:
    """Play a meeting in the server, to its end; its id and its entries."""
    name = next(
        demo["name"] for demo in client("moot.listDemos")["demos"] if demo["protocol"] == DEMO
    )
    session = str(client("moot.playDemo", name=name, pace="fast")["sessionId"])
    end = time.monotonic() + DEADLINE
    while client("moot.getSession", sessionId=session)["status"] == "thinking":
        assert time.monotonic() < end
        time.sleep(0.05)
    return session, client("moot.getEntries", sessionId=session)["entries"]


def list_words(value: Any) -> list[str]:
    """Everything in a value that somebody said: what is long enough to be no name."""
    if isinstance(value, dict):
        return [word for each in value.values() for word in list_words(each)]
    if isinstance(value, list):
        return [word for each in value for word in list_words(each)]
    return [value] if isinstance(value, str) and " " in value and len(value) > 15 else []


def test_a_meeting_is_traced_from_the_call_to_each_ask_and_append_and_never_its_words(
    tmp_path: Path,
) -> None:
    """N-7: JSON-RPC and MCP calls, steps, asks with seat, kind, tokens and outcome, appends; what fails is named by its kind."""
    with OtlpReceiver() as collector:
        cli = Cli(
            tmp_path / "home",
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
            OTEL_BSP_SCHEDULE_DELAY="60000",
        )
        with Server(cli) as server:
            session, entries = play_demo(server.local)
            server.local.refused("moot.getSession", sessionId="a secret plan that nobody may read")
            arguments = {"name": "list_sessions", "arguments": {}}
            body = json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
            ).encode()
            told = server.local.request(
                "POST", "/mcp", body, accept="application/json, text/event-stream"
            )
            assert told.status == 200, told
            # Spans that wait for the next batch are sent when the server stops.
            server.stop()
        called = collector.wait_for(
            lambda span: span.attributes.get("moot.method") == "moot.playDemo"
        )
        assert (called.name, called.service, called.attributes["moot.role"]) == (
            "moot.call",
            "moot",
            "local",
        )
        spans = [span for span in collector.spans if span.attributes.get("moot.session") == session]
        assert {span.name for span in spans} == {
            "moot.advance",
            "moot.step",
            "moot.ask",
            "moot.append",
        }
        # One trace: the call, the work that it started in the process, and all that follows from it.
        assert {span.trace for span in spans} == {called.trace}
        known = {span.id: span for span in collector.spans}
        for name, over in (
            ("moot.ask", "moot.step"),
            ("moot.step", "moot.advance"),
            ("moot.advance", "moot.call"),
        ):
            assert {known[span.parent].name for span in spans if span.name == name} == {over}
        asks = [span.attributes for span in spans if span.name == "moot.ask"]
        assert len(asks) == sum("said" in entry["what"] for entry in entries)
        assert {each["moot.outcome"] for each in asks} == {"answered"}
        assert {
            "moot.seat",
            "moot.kind",
            "moot.vendor",
            "moot.tokens_in",
            "moot.tokens_out",
        } <= asks[0].keys()
        assert sum(
            span.attributes["moot.entries"] for span in spans if span.name == "moot.append"
        ) == len(entries)
        assert [
            span.attributes["moot.outcome"] for span in spans if span.name == "moot.advance"
        ] == ["closed"]
        failed = collector.wait_for(lambda span: span.is_failed)
        assert failed.attributes["error.type"] == "BadName"
        assert collector.wait_for(
            lambda span: span.attributes.get("moot.method") == "moot.listSessions"
        )
        sent = b"".join(collector.bodies)
        words = [*list_words(entries), "a secret plan"]
        assert len(words) > 10
        assert [word for word in words if word.encode() in sent] == []


def test_a_call_belongs_to_the_trace_that_its_caller_names(tmp_path: Path) -> None:
    """N-7: over JSON-RPC and MCP, with all that follows from it; a header that names none is as good as none."""
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    careless = ["nonsense", f"00-{trace}", f"00-{'0' * 32}-{span}-01", "00-" + "a" * 5_000]
    with OtlpReceiver() as collector:
        cli = Cli(
            tmp_path / "home",
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
            OTEL_BSP_SCHEDULE_DELAY="60000",
        )
        with Server(cli) as server:
            named = replace(
                server.local,
                headers={
                    **server.local.headers,
                    "traceparent": f"00-{trace}-{span}-01",
                    "baggage": "a=secret",
                },
            )
            session, _ = play_demo(named)
            arguments = {"name": "list_sessions", "arguments": {}}
            body = json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
            ).encode()
            assert (
                named.request(
                    "POST", "/mcp", body, accept="application/json, text/event-stream"
                ).status
                == 200
            )
            for header in careless:
                replace(server.local, headers={**server.local.headers, "traceparent": header})(
                    "moot.listProtocols"
                )
            server.stop()
        called = collector.wait_for(
            lambda each: each.attributes.get("moot.method") == "moot.playDemo"
        )
        assert (called.trace, called.parent) == (trace, span)
        assert {
            each.trace for each in collector.spans if each.attributes.get("moot.session") == session
        } == {trace}
        assert (
            collector.wait_for(
                lambda each: each.attributes.get("moot.method") == "moot.listSessions"
            ).trace
            == trace
        )
        others = [
            each
            for each in collector.spans
            if each.attributes.get("moot.method") == "moot.listProtocols"
        ]
        assert len({each.trace for each in others} - {trace}) == len(careless)
        assert {each.parent for each in others} == {""}
        assert b"secret" not in b"".join(collector.bodies)


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_collector_that_is_down_or_slow_holds_up_no_meeting_and_no_end(
    tmp_path: Path, is_slow: bool
) -> None:
    """N-7: spans are dropped, which is one sentence in the log."""
    with OtlpReceiver(is_slow=True) as slow:
        endpoint = slow.endpoint if is_slow else "http://127.0.0.1:9"
        # By the setting of the home; the variable would do as well.
        cli = Cli(tmp_path / "home", tmp_path, OTEL_BSP_SCHEDULE_DELAY="50")
        cli.home.mkdir(mode=0o700)
        (cli.home / "server.toml").write_text(f'traces = "{endpoint}"\n')
        with Server(cli) as server:
            play_demo(server.local)
            if is_slow:
                slow.wait_for(lambda span: span.name == "moot.call")
            assert server.local.get("/readyz").status == 200
            began = time.monotonic()
            server.stop()
            assert time.monotonic() - began < STOP_SECONDS
            log = server.logged()
        assert "Traceback" not in log
        assert log.count("collector") <= 1
        assert log.count("opentelemetry") == 0


LOOK = """
import logging, os
from moothall.app.traces import open_tracer
logging.basicConfig()
with open_tracer(os.environ) as tracer:
    print(type(tracer).__name__)
"""


def test_traces_without_their_packages_are_one_sentence(tmp_path: Path) -> None:
    """N-7: a setting of Moot's is refused; a variable that may be meant for other programs is told of, and nothing else."""
    hidden = tmp_path / "hidden" / "opentelemetry" / "exporter"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('not installed')\n")
    cli = Cli(tmp_path / "home", tmp_path, PYTHONPATH=str(tmp_path / "hidden"))
    cli.home.mkdir(mode=0o700)
    (cli.home / "server.toml").write_text('traces = "http://127.0.0.1:9"\n')
    refused = cli.fresh("serve", "--port", "0", code=2)
    assert (refused.out, refused.err) == (
        "",
        f"moot: traces need extra packages: {describe_install('otel')}\n",
    )

    def look(**environ: str) -> tuple[str, str]:
        environ = {**cli.environ, **environ}
        done = subprocess.run(
            [sys.executable, "-c", LOOK],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE,
        )
        return done.stdout.strip(), done.stderr

    name, told = look(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert (name, told.count("\n"), "OTEL_EXPORTER_OTLP_ENDPOINT is ignored" in told) == (
        "NoTracer",
        1,
        True,
    )
    installed = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PYTHONPATH": ""}
    assert look(**installed) == ("OtelTracer", "")
    assert look(**installed, OTEL_SDK_DISABLED="true") == ("NoTracer", "")
    assert look(PYTHONPATH="") == ("NoTracer", "")
