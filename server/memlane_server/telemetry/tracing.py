"""Traces by OpenTelemetry. This module is imported where tracing is configured, and nowhere else.

A call that is not sampled costs a look through its metadata and, where it brings no trace, a random number: no span is
made for it. Spans carry names, numbers and statuses; texts, user ids and what errors say are never put into one.
"""

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import grpc
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from memlane_core.domain.errors import MemlaneError
from memlane_core.ports.model_observer import ModelAnswer

from ..principal import ServicerContext
from .settings import TracingSettings

TRACEPARENT = "traceparent"
_SERVER_FAULTS = frozenset(
    ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
)
"""Statuses that make a server's span an error, by the semantic conventions for gRPC."""


class Tracing:
    """Makes spans and sends them. `shut_down` must follow."""

    def __init__(self, settings: TracingSettings, *, exporter: SpanExporter | None = None) -> None:
        """`exporter`: for tests; else OTLP over HTTP to the endpoint of the settings."""
        self._ratio = settings.sample_ratio
        # Sampling is decided before a span is made; those that are made are all recorded.
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create(
                {"service.name": settings.service_name, "service.version": version("memlane")}
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter
                or OTLPSpanExporter(
                    endpoint=settings.endpoint,
                    headers={name: value.get_secret_value() for name, value in settings.headers.items()},
                    timeout=settings.timeout_seconds,
                )
            )
        )
        self._tracer = self._provider.get_tracer("memlane", version("memlane"))

    def shut_down(self) -> None:
        """Send what is left; blocks for as long as an export may take."""
        self._provider.shutdown()

    def traced(self, handler: grpc.RpcMethodHandler, path: str) -> grpc.RpcMethodHandler:
        """The same handler with a span around each sampled call."""
        name = path.removeprefix("/")
        service, _, method = name.partition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}

        def one_answer(run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def traced(request: Any, context: ServicerContext) -> Any:
                parent = self.sampled(context)
                if parent is None:
                    return await run(request, context)
                with self._span(name, SpanKind.SERVER, attributes, parent):
                    return await run(request, context)

            return traced

        # All our handlers write their streams themselves, so that each of them is a coroutine.
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(one_answer(handler.stream_stream))
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(one_answer(handler.unary_stream))
        return grpc.unary_unary_rpc_method_handler(one_answer(handler.unary_unary))

    def sampled(self, context: ServicerContext) -> Context | None:
        """The context that a span of this call belongs to; None = not sampled."""
        for key, value in context.invocation_metadata() or ():
            if key == TRACEPARENT:
                remote = parse_traceparent(value)
                if remote is not None:
                    if not remote.trace_flags.sampled:
                        return None
                    return trace.set_span_in_context(trace.NonRecordingSpan(remote), Context())
                break
        return Context() if random.random() < self._ratio else None

    @contextmanager
    def stage(self, name: str, **attributes: str | int) -> Iterator[None]:
        """A span of a part of a call, where the call has one."""
        if not trace.get_current_span().is_recording():
            yield
            return
        with self._span(name, SpanKind.INTERNAL, attributes, None):
            yield

    def model_span(self, operation: str, model: str, server: str) -> "ModelSpan | None":
        """To be ended by `ModelSpan.end`. None where the call has no span. It is never the current one: an answer that
        streams may be left in another context than it began in."""
        if not trace.get_current_span().is_recording():
            return None
        host, _, port = server.partition(":")
        attributes: dict[str, str | int] = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
            "server.address": host,
        }
        if port.isdigit():
            attributes["server.port"] = int(port)
        span = self._tracer.start_span(f"{operation} {model}", kind=SpanKind.CLIENT, attributes=attributes)
        return ModelSpan(span)

    @contextmanager
    def _span(
        self, name: str, kind: SpanKind, attributes: dict[str, Any], parent: Context | None
    ) -> Iterator[Span]:
        span = self._tracer.start_span(name, context=parent, kind=kind, attributes=attributes)
        token = otel_context.attach(trace.set_span_in_context(span))
        try:
            yield span
        except BaseException as error:
            # Not record_exception: texts of errors and stacks may quote what a caller sent.
            fail(span, error)
            raise
        finally:
            otel_context.detach(token)
            span.end()


class ModelSpan:
    """The span of one call of a model (semantic conventions for generative AI, without content)."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def answered(self, answer: ModelAnswer) -> None:
        attributes: dict[str, Any] = {
            "gen_ai.response.model": answer.model,
            "gen_ai.usage.input_tokens": answer.input_tokens,
            "gen_ai.usage.output_tokens": answer.output_tokens,
        }
        if answer.finish_reason:
            attributes["gen_ai.response.finish_reasons"] = (answer.finish_reason,)
        self._span.set_attributes(attributes)

    def end(self, error: BaseException | None) -> None:
        if error is not None:
            fail(self._span, error)
        self._span.end()


def ended(status: str) -> None:
    """Write the status of a call onto its span, where it has one."""
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("rpc.response.status_code", status)
        if status in _SERVER_FAULTS:
            span.set_status(Status(StatusCode.ERROR))


def fail(span: Span, error: BaseException) -> None:
    """What kind of error it was; not what it says."""
    if not isinstance(error, grpc.aio.AbortError):
        span.set_attribute("error.type", kind_of_error(error))
        span.set_status(Status(StatusCode.ERROR))


def kind_of_error(error: BaseException) -> str:
    return error.reason if isinstance(error, MemlaneError) else type(error).__name__


def parse_traceparent(value: object) -> SpanContext | None:
    """The caller's span (W3C Trace Context, level 1); None for anything malformed, which is then as good as absent."""
    if not isinstance(value, str) or len(value) > 256:
        return None
    parts = value.strip().split("-")
    if len(parts) < 4 or [len(part) for part in parts[:4]] != [2, 32, 16, 2]:
        return None
    version_, trace_id, span_id, flags = parts[:4]
    if version_ == "ff" or (version_ == "00" and len(parts) != 4):
        return None
    if not all(character in "0123456789abcdef" for part in parts[:4] for character in part):
        return None
    context = SpanContext(int(trace_id, 16), int(span_id, 16), True, TraceFlags(int(flags, 16)))
    return context if context.is_valid else None
