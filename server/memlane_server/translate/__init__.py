"""Between the wire's messages and the domain's values. Rules about fields are in `validate`."""

from .wire import memory_record, message_record

__all__ = ["memory_record", "message_record"]
