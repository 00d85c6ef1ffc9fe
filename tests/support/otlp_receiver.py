"""A collector of OpenTelemetry on loopback that keeps the spans it is sent by OTLP over HTTP; a slow one answers nobody."""

import gzip
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

DEADLINE = 60.0


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    name: str
    trace: str
    id: str
    parent: str
    is_failed: bool
    attributes: dict[str, Any]
    service: str


class OtlpReceiver:
    """Use as a context manager; `endpoint` is what OTEL_EXPORTER_OTLP_ENDPOINT is set to."""

    def __init__(self, *, is_slow: bool = False) -> None:
        self.spans: list[ReceivedSpan] = []
        self.bodies: list[bytes] = []
        self._ended = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                body = (
                    gzip.decompress(body)
                    if self.headers.get("Content-Encoding") == "gzip"
                    else body
                )
                assert self.path == "/v1/traces"
                receiver.take(body)
                if is_slow:
                    receiver._ended.wait(DEADLINE)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        self.bodies.append(body)
        for resource in request.resource_spans:
            service = read_attributes(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [
                    ReceivedSpan(
                        name=span.name,
                        trace=span.trace_id.hex(),
                        id=span.span_id.hex(),
                        parent=span.parent_span_id.hex(),
                        is_failed=span.status.code == 2,
                        attributes=read_attributes(span.attributes),
                        service=service,
                    )
                    for span in scope.spans
                ]

    def wait_for(self, is_wanted: Callable[[ReceivedSpan], bool]) -> ReceivedSpan:
        """The first span that is wanted, once it has come."""
        end = time.monotonic() + DEADLINE
        while True:
            for span in list(self.spans):
                if is_wanted(span):
                    return span
            assert time.monotonic() < end, [span.name for span in self.spans]
            time.sleep(0.02)


def read_attributes(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
