"""Limits of the wire and of the store, counted in UTF-8 bytes or as named.

They are one table so that validation, the store's schema and the documentation cannot drift apart.
"""

MAX_USER_ID_BYTES = 64
MAX_MEMORY_ID_BYTES = 64
MAX_SESSION_ID_BYTES = 128
MAX_REQUEST_ID_BYTES = 128
MAX_CONTENT_BYTES = 2048
MAX_KNOWLEDGE_ID_BYTES = 64
MAX_METADATA_BYTES = 4096
"""All keys and values of one metadata map, encoded as JSON."""
MAX_METADATA_ENTRIES = 32
MAX_METADATA_KEY_BYTES = 64
MAX_METADATA_VALUE_BYTES = 1024
MAX_MESSAGE_BYTES = 32 * 1024
"""One message of a conversation."""
MAX_MESSAGES = 500
MAX_CONVERSATION_BYTES = 1024 * 1024
MAX_FACTS = 100
MAX_QUERY_BYTES = 8192
MAX_TOP_K = 100
DEFAULT_TOP_K = 5
MAX_BATCH_SEARCHES = 1000
MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_SIZE = 50
MAX_PAGE_BYTES = 1024 * 1024
MAX_RULES_BYTES = 64 * 1024
MAX_REASON_BYTES = 1024
MAX_BUDGET_TOKENS = 1_000_000
MAX_TTL_SECONDS = 100 * 366 * 86_400
MAX_REQUEST_MESSAGE_BYTES = 2 * 1024 * 1024
"""A whole request; well under gRPC's default of 4 MiB."""
MAX_RESPONSE_MESSAGE_BYTES = 4 * 1024 * 1024

GLOBAL_USER_ID = "global"
"""Owner of shared knowledge; reserved, never a caller's user_id."""

RESERVED_METADATA_KEYS = frozenset(
    {
        "memory_id", "user_id", "tenant", "memory_type", "content", "embedding", "created_at", "updated_at",
        "create_time", "update_time", "expire_time", "expires_at", "ttl", "is_deleted", "deleted", "revision",
        "position",
    }
)  # fmt: skip
"""Keys that name a memory's own columns: a caller's metadata may not carry them."""
