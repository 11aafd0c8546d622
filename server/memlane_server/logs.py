"""Structured logs: one line an event, names and numbers, never content."""

import json
import logging
import sys
import time

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line; what was passed as `extra` becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {k: v for k, v in record.__dict__.items() if k not in _STANDARD}
        if record.exc_info and record.exc_info[0] is not None:
            # The type and the place, not the text: an exception's message may carry what a caller sent.
            fields["error"] = record.exc_info[0].__name__
            fields["at"] = _place(record)
        return json.dumps(fields, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{k}={v}" for k, v in record.__dict__.items() if k not in _STANDARD)
        stamp = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = f"{stamp} {record.levelname:<7} {record.name.removeprefix('memlane_')}: {record.getMessage()}"
        if record.exc_info and record.exc_info[0] is not None:
            fields += f" error={record.exc_info[0].__name__} at={_place(record)}"
        return f"{line} {fields}".rstrip()


def _place(record: logging.LogRecord) -> str:
    traceback = record.exc_info[2] if record.exc_info else None
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    code = traceback.tb_frame.f_code
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{traceback.tb_lineno}"


def configure(level: str, form: str) -> None:
    """Own loggers at `level`; libraries only from WARNING on, since some of them log what they are given."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("memlane_core", "memlane_server"):
        logging.getLogger(name).setLevel(level.upper())
    for name in ("pymilvus", "milvus_lite", "openai", "httpx", "httpcore", "numba", "grpc"):
        logging.getLogger(name).setLevel(logging.ERROR)
