"""Between the wire's messages and the domain's values. Rules about fields are in `validate`."""

from .wire import MemoryRecords, message_record

__all__ = ["MemoryRecords", "message_record"]
