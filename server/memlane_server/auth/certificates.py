"""Client certificates to principals. The handshake has proved the certificate; here it only gets its rights."""

from collections.abc import Sequence

from memlane_core.domain.errors import Unauthenticated

from ..principal import Principal, ServicerContext
from .errors import CertificateUnknown
from .settings import ClientCertificate

_MAX_KNOWN = 1024


class Certificates:
    def __init__(self, clients: Sequence[ClientCertificate]) -> None:
        self._by_name = {c.common_name: _principal(c) for c in clients if c.common_name}
        self._by_uri = {c.uri: _principal(c) for c in clients if c.uri}
        self._known: dict[bytes, Principal] = {}
        """By the certificate itself, as gRPC gives it."""

    def principal(self, context: ServicerContext) -> Principal:
        """Raises Unauthenticated, CertificateUnknown."""
        peer = context.auth_context()
        certificate = b"".join(peer.get("x509_pem_cert", ()))
        known = self._known.get(certificate)
        if known is not None:
            return known
        if not certificate:
            raise Unauthenticated("the call carries neither a token nor a client certificate")
        found = {
            *(self._by_name.get(_text(name)) for name in peer.get("x509_common_name", ())),
            *(self._by_uri.get(_text(uri)) for uri in peer.get("peer_uri", ())),
        } - {None}
        if len(found) != 1:
            raise CertificateUnknown(
                "several entries of auth.clients name this certificate"
                if found
                else "no entry of auth.clients names this certificate"
            )
        principal = found.pop()
        assert principal is not None
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[certificate] = principal
        return principal

    def tenant(self, context: ServicerContext) -> str | None:
        """Tenant of the certificate; None = there is none, or it has no rights of its own."""
        try:
            return self.principal(context).tenant
        except Unauthenticated:
            return None


def _principal(client: ClientCertificate) -> Principal:
    return Principal(
        client.tenant, client.common_name or client.uri, client.user_id, frozenset(client.scopes)
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
