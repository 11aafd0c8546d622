"""From a call's credential to its principal."""

import time
from collections.abc import Callable

from memlane_core.domain.errors import Unauthenticated

from ..principal import Principal, ServicerContext
from .certificates import Certificates
from .errors import KeyUnknown, TokenInvalid
from .keys import JwksFile, Keys, SharedSecret
from .settings import AuthSettings
from .tokens import TokenVerifier, Verified

_HEADER = "authorization"
_SCHEME = "bearer "
MAX_TOKEN_BYTES = 7 * 1024
"""gRPC refuses a call with more than 8 KiB of metadata, now and then or always, and says less clearly why."""
MAX_KNOWN_TOKENS = 4096
_LOOK_SECONDS = 1.0
"""How long a key that was withdrawn may go on opening the door."""


class Authenticator:
    """A `Caller`. A token that was verified is known by its text until it expires, so that a warm call costs one look
    into a table. To be used on the event loop.

    A token goes before a certificate: a gateway with a certificate of its own acts for whom its token names. Where
    the certificate has a tenant, the token must be of the same.
    """

    def __init__(
        self,
        settings: AuthSettings,
        *,
        on_refusal: Callable[[Unauthenticated], None] = lambda error: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Raises FailedPrecondition for keys that cannot be used."""
        self._keys = _keys(settings)
        self._verifier = None if self._keys is None else TokenVerifier(self._keys, settings)
        self._certificates = Certificates(settings.clients) if settings.clients else None
        self._on_refusal = on_refusal
        self._now = now
        self._known: dict[str, Verified] = {}
        self._next_look = 0.0

    def __call__(self, context: ServicerContext) -> Principal:
        """Raises Unauthenticated."""
        header: str | None = None
        try:
            for key, value in context.invocation_metadata() or ():
                if key == _HEADER:
                    if header is not None:
                        raise TokenInvalid("form", "the call carries several authorization headers")
                    header = value
            if header is None:
                return self._by_certificate(context)
            now = self._now()
            if now >= self._next_look:
                self._look(now)
            known = self._known.get(header)
            if known is None or now >= known.until:
                known = self._verify(header)
            if self._certificates is not None:
                self._check_tenant(self._certificates, context, known.principal)
            return known.principal
        except Unauthenticated as error:
            self._on_refusal(error)
            raise

    def _verify(self, header: str) -> Verified:
        self._known.pop(header, None)
        if self._verifier is None:
            raise Unauthenticated("this server takes client certificates and no tokens")
        if header[: len(_SCHEME)].lower() != _SCHEME:
            raise Unauthenticated("the authorization header is not of the form: Bearer <token>")
        token = header[len(_SCHEME) :].strip(" ")
        if len(token) > MAX_TOKEN_BYTES:
            raise TokenInvalid("form", f"the token is longer than {MAX_TOKEN_BYTES} bytes")
        try:
            verified = self._verifier.verify(token)
        except KeyUnknown:
            if not self._refresh():
                raise
            verified = self._verifier.verify(token)
        if len(self._known) >= MAX_KNOWN_TOKENS:
            # The oldest goes: it is the likeliest to have expired.
            del self._known[next(iter(self._known))]
        self._known[header] = verified
        return verified

    def _look(self, now: float) -> None:
        self._next_look = now + _LOOK_SECONDS
        self._refresh()

    def _refresh(self) -> bool:
        """A key that was taken out of the file takes its tokens with it."""
        changed = self._keys is not None and self._keys.refresh()
        if changed:
            self._known.clear()
        return changed

    def _by_certificate(self, context: ServicerContext) -> Principal:
        if self._certificates is not None:
            return self._certificates.principal(context)
        raise Unauthenticated("the call carries no token: send the metadata authorization: Bearer <token>")

    @staticmethod
    def _check_tenant(certificates: Certificates, context: ServicerContext, principal: Principal) -> None:
        tenant = certificates.tenant(context)
        if tenant is not None and tenant != principal.tenant:
            raise TokenInvalid("tenant", "the token and the client certificate are of different tenants")


def _keys(settings: AuthSettings) -> Keys | None:
    if settings.jwks_file is not None:
        return JwksFile(settings.jwks_file)
    secret = settings.hs256_secret.get_secret_value()
    return SharedSecret(secret) if secret else None
