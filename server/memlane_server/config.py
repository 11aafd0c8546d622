"""Settings: defaults, then a TOML file, then MEMLANE_* variables, then the command line."""

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memlane_core.context import DEFAULT_TEMPLATES, ContextTemplates
from memlane_core.domain.language import Language
from memlane_core.guards.secrets import SecretKind

from .auth.settings import AuthSettings
from .console.settings import ConsoleSettings
from .limits.settings import LimitsSettings
from .principal import TENANT_PATTERN
from .telemetry.settings import MetricsSettings, TracingSettings

CONFIG_FILE_VARIABLE = "MEMLANE_CONFIG"
Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ServerSettings(_Section):
    host: str = "127.0.0.1"
    port: int = Field(7070, ge=0, le=65535)
    """0 = a free port; the one taken is printed."""
    allow_insecure_public: bool = False
    """Serve without TLS on an address that others can reach."""
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    """Who signs the certificates of clients."""
    tls_client_auth: Literal["none", "required"] = "none"
    """required = a client must show a certificate of tls_client_ca. gRPC for Python cannot ask for one and go on
    without: for both, serve two addresses."""
    allow_unauthenticated_public: bool = False
    """Serve without credentials on an address that others can reach."""
    reflection: Literal["auto", "on", "off"] = "auto"
    """Let tools read the contract from the server; auto = unless callers need credentials, which reflection does not
    ask for."""
    max_concurrent_calls: Positive = 1000
    max_waiting_calls: Positive = 400
    """Calls that have arrived and wait for the service to take them up. Beyond half of it the transport refuses more
    and more, beyond it all (status CANCELLED, within a millisecond): older calls would be answered too late."""
    max_slow_calls: Positive = 64
    """Remember, Chat and EndSession that wait for a model."""
    shutdown_grace_seconds: Seconds = 10.0
    io_threads: Positive = 16

    @model_validator(mode="after")
    def _tls_in_pairs(self) -> "ServerSettings":
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together")
        if (self.tls_client_auth == "required") != (self.tls_client_ca is not None):
            raise ValueError("tls_client_ca and tls_client_auth = required go together")
        if self.tls_client_ca is not None and self.tls_certificate is None:
            raise ValueError("tls_client_ca needs tls_certificate and tls_key")
        return self


class StoreSettings(_Section):
    milvus_uri: str = ""
    """"" = Milvus Lite in the data directory; http://host:19530 = a Milvus server."""
    milvus_token: SecretStr = SecretStr("")
    collection_prefix: str = Field("memlane", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,31}$")
    index_type: str = "FLAT"
    journal_url: str = ""
    """"" = SQLite in the data directory; postgresql+psycopg://... = PostgreSQL."""


class IndexSettings(_Section):
    budget_mib: Positive = 2048
    """Memory for the blocks of resident users."""
    fill_at_start: Literal["auto", "always", "never"] = "auto"
    """auto = on Milvus Lite, whose reads cost the whole collection."""
    query_cache_entries: Positive = 50_000


class EmbeddingSettings(_Section):
    provider: Literal["local", "openai"] = "local"
    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    model: str = "text-embedding-3-small"
    dimension: Positive = 1536
    """Of the openai provider; the local embedder has 512."""
    timeout_seconds: Seconds = 20.0


class ModelSettings(_Section):
    """An OpenAI-compatible chat completions endpoint; off while base_url is empty."""

    base_url: str = ""
    api_key: SecretStr = SecretStr("")
    model: str = ""
    temperature: float | None = Field(0.0, ge=0, le=2)
    timeout_seconds: Seconds = 30.0
    token_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_completion_tokens"
    max_output_tokens: Positive = 2048

    @model_validator(mode="after")
    def _model_is_named(self) -> "ModelSettings":
        if self.base_url and not self.model:
            raise ValueError("model is required with base_url")
        return self

    @property
    def configured(self) -> bool:
        return bool(self.base_url)


class MemorySettings(_Section):
    decider: Literal["auto", "rules", "model"] = "auto"
    """Who extracts and decides: auto = the model when one is configured, else the built-in rules."""
    candidates: int = Field(5, ge=1, le=20)
    max_deletions_per_call: Positive = 3
    secret_kinds: tuple[SecretKind, ...] = tuple(SecretKind)
    keep_last_four: bool = True


class IngestionSettings(_Section):
    workers: Positive = 4
    max_attempts: Positive = 5
    max_backlog: Positive = 10_000
    max_backlog_per_user: Positive = 100


class RetentionSettings(_Section):
    purge_after_days: float = Field(30.0, ge=0)
    replay_days: float = Field(7.0, gt=0)
    sweep_every_seconds: Seconds = 60.0


class TemplateSettings(_Section):
    """Replacements for the fixed texts of a context; what is not set keeps its default."""

    rules_header: str | None = None
    rule_line: str | None = None
    memories_header: str | None = None
    memory_line: str | None = None
    knowledge_header: str | None = None
    knowledge_line: str | None = None


class ContextSettings(_Section):
    rounds: int = Field(10, ge=1, le=100)
    time_zone: str = "UTC"
    knowledge_top_k: int = Field(3, ge=1, le=20)
    knowledge_min_score: float = 0.3
    zh: TemplateSettings = TemplateSettings()
    en: TemplateSettings = TemplateSettings()

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"unknown time zone {name!r}") from None
        return name

    @model_validator(mode="after")
    def _templates_are_whole(self) -> "ContextSettings":
        self.templates()
        return self

    def templates(self) -> dict[Language, ContextTemplates]:
        """Defaults with the replacements laid over them. Raises ValueError naming a template that cannot work."""
        result = {}
        for language, given in ((Language.ZH, self.zh), (Language.EN, self.en)):
            default = DEFAULT_TEMPLATES[language]
            names = list(TemplateSettings.model_fields)
            texts = {n: getattr(given, n) or getattr(default, n) for n in names}
            result[language] = ContextTemplates(**texts)
            result[language].check()
        return result


class LogSettings(_Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "text"


class Settings(BaseSettings):
    """All that can be set. A variable is MEMLANE_ and the path in capitals: MEMLANE_SERVER__PORT=7071."""

    model_config = SettingsConfigDict(
        env_prefix="MEMLANE_",
        env_nested_delimiter="__",
        extra="forbid",
        nested_model_default_partial_update=True,
    )

    data_dir: Path = Path("memlane-data")
    tenant: str = Field("default", pattern=TENANT_PATTERN)
    """Tenant of callers without a credential."""
    actor: str = "anonymous"
    clock_offset_file: Path | None = None
    """For demos and tests: a file with a number of seconds added to the clock."""
    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    store: StoreSettings = StoreSettings()
    index: IndexSettings = IndexSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    chat: ModelSettings = ModelSettings()
    memory: MemorySettings = MemorySettings()
    ingestion: IngestionSettings = IngestionSettings()
    retention: RetentionSettings = RetentionSettings()
    context: ContextSettings = ContextSettings()
    limits: LimitsSettings = LimitsSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    tracing: TracingSettings = TracingSettings()
    console: ConsoleSettings = ConsoleSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        path = os.environ.get(CONFIG_FILE_VARIABLE)
        toml = (TomlConfigSettingsSource(settings_cls, toml_file=Path(path)),) if path else ()
        return (init_settings, env_settings, *toml)

    @model_validator(mode="after")
    def _certificates_are_asked_for(self) -> "Settings":
        if self.auth.clients and self.server.tls_client_auth != "required":
            raise ValueError("auth.clients needs server.tls_client_auth = required")
        return self

    @property
    def milvus_uri(self) -> str:
        return self.store.milvus_uri or str(self.data_dir / "milvus.db")

    @property
    def journal_url(self) -> str:
        return self.store.journal_url or f"sqlite:///{self.data_dir / 'journal.sqlite'}"

    @property
    def uses_milvus_lite(self) -> bool:
        return not self.milvus_uri.startswith(("http://", "https://", "unix:"))

    def shown(self) -> dict[str, Any]:
        """What holds, secrets masked: for --print-config."""
        return {name: _masked(value) for name, value in self.model_dump(mode="json").items()}


def _masked(value: Any) -> Any:
    """The same without the passwords that stand in URLs."""
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if not isinstance(value, str) or "://" not in value:
        return value
    # Up to the last @, since a password may hold one.
    value = re.sub(r"://([^:/@]*):.*@", r"://\1:**********@", value)
    return re.sub(r"([?&](?:password|token|sslpassword)=)[^&]*", r"\1**********", value)


def load(config: Path | None = None, **overrides: Any) -> Settings:
    """Raises pydantic.ValidationError (a ValueError) with one line per wrong setting; FileNotFoundError."""
    if config is not None:
        if not config.is_file():
            raise FileNotFoundError(f"no configuration file at {config}")
        os.environ[CONFIG_FILE_VARIABLE] = str(config)
    return Settings(**overrides)
