"""Drivers behind the ports: Milvus, SQL, embedders, OpenAI-compatible models."""
