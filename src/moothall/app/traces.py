"""Traces by OpenTelemetry: the spans of this process, sent to a collector by OTLP over HTTP. Off unless a setting says where to.

The provider is this module's own and never the process's: libraries that Moot uses would otherwise add spans of theirs, with
prompts and answers in them.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from moothall.app.version import VERSION
from moothall.errors import BadSetting, MissingExtra, describe_install
from moothall.ports.telemetry import NoTracer, Span, Tracer, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as OtelSpan

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXTRA: Final = f"traces need extra packages: {describe_install('otel')}"
MAX_VALUE_LENGTH: Final = 200
LAST_SECONDS: Final = 2.0
"""How long a process that ends waits for its last spans to be taken."""

log = logging.getLogger("moot")


class OtelTracer:
    """Implements `Tracer` with the SDK of OpenTelemetry: spans go into a bounded queue, which a thread of its own empties."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace import Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        # Of what a caller may send, the ids alone: `baggage` and `tracestate` can hold anything.
        self._propagator = TraceContextTextMapPropagator()
        self._tracer = provider.get_tracer("moot", VERSION)
        self._failed = Status(StatusCode.ERROR)

    @contextmanager
    def span(self, name: str, *, caller: str = "", **attributes: Value) -> Iterator[Span]:
        context = None
        if caller:
            context = self._propagator.extract({"traceparent": caller})
        with self._tracer.start_as_current_span(
            name, context, record_exception=False, set_status_on_exception=False
        ) as span:
            noted = _NotedSpan(span)
            noted.note(**attributes)
            try:
                yield noted
            except BaseException as error:
                # The kind alone: a message may quote what somebody said.
                span.set_attribute("error.type", type(error).__name__)
                if not isinstance(error, asyncio.CancelledError):
                    span.set_status(self._failed)
                raise


class _NotedSpan:
    def __init__(self, span: "OtelSpan") -> None:
        self._span = span

    def note(self, **attributes: Value) -> None:
        for name, value in attributes.items():
            if isinstance(value, str):
                self._span.set_attribute(f"moot.{name}", value[:MAX_VALUE_LENGTH])
            else:
                self._span.set_attribute(f"moot.{name}", value)


@contextmanager
def open_tracer(environ: Mapping[str, str], endpoint: str = "") -> Iterator[Tracer]:
    """Where the spans of this process go: to `endpoint`, or as the standard variables say; nowhere if neither says anything.

    Raises MissingExtra if `endpoint` is given and the packages are not here. A variable may be meant for other programs: then
    that is logged in one sentence.
    """
    is_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    is_elsewhere = environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() not in {"", "otlp"}
    endpoints = [name for name in ENDPOINTS if environ.get(name)]
    if not endpoint and (is_off or is_elsewhere or not endpoints):
        yield NoTracer()
        return
    try:
        provider = _build_provider(environ, endpoint)
    except ImportError as cause:
        if endpoint:
            raise MissingExtra(EXTRA) from cause
        log.warning("%s; without them %s is ignored", EXTRA, endpoints[0])
        yield NoTracer()
        return
    try:
        yield OtelTracer(provider)
    finally:
        # A thread that nobody joins at the end: a collector that does not answer must not hold up the process.
        last = threading.Thread(target=provider.shutdown, daemon=True)
        last.start()
        last.join(LAST_SECONDS)


def _build_provider(environ: Mapping[str, str], endpoint: str) -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    protocol = next((environ[name] for name in PROTOCOLS if environ.get(name)), "http/protobuf")
    if not endpoint and protocol != "http/protobuf":
        raise BadSetting(
            f"OTEL_EXPORTER_OTLP_PROTOCOL = {protocol!r}: Moot sends traces by http/protobuf alone (port 4318)"
        )
    attributes: dict[str, Any] = {"service.version": VERSION}
    if not environ.get("OTEL_SERVICE_NAME") and "service.name=" not in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    ):
        attributes["service.name"] = "moot"
    # The sentences of its own about each try would fill the log of a server; `LoggedExporter` says it once.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    address = None
    if endpoint:
        address = f"{endpoint.rstrip('/')}/v1/traces"
    exporter = OTLPSpanExporter(endpoint=address)
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_build_logged_exporter(exporter)))
    return provider


def _build_logged_exporter(exporter: "SpanExporter") -> "SpanExporter":
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class LoggedExporter(SpanExporter):
        """Says once that a collector takes no spans, and once that it does again."""

        is_failing = False

        def export(self, spans: "Sequence[ReadableSpan]") -> SpanExportResult:
            result = exporter.export(spans)
            is_failing = result is not SpanExportResult.SUCCESS
            if is_failing != self.is_failing:
                self.is_failing = is_failing
                what = "traces again"
                if is_failing:
                    what = "no traces; they are dropped, and sessions go on"
                log.warning("the collector of OpenTelemetry takes %s", what)
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

    return LoggedExporter()
