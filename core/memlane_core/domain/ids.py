"""Ids that the service gives. Random, so that they tell nothing about other users."""

import secrets


def new_memory_id() -> str:
    """22 printable ASCII characters with 120 random bits."""
    return f"m_{secrets.token_urlsafe(15)}"


def new_ingestion_id() -> str:
    return f"ing_{secrets.token_urlsafe(15)}"


def new_receipt_id() -> str:
    return f"rcp_{secrets.token_urlsafe(15)}"


def new_knowledge_id() -> str:
    return f"k_{secrets.token_urlsafe(15)}"
