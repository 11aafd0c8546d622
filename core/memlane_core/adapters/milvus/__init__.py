"""Rows with vectors in Milvus: Milvus Lite in a child process, or a Milvus server."""

from .store import MilvusStore

__all__ = ["MilvusStore"]
