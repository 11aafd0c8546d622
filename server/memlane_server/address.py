"""Who could reach the service. On its own, so that a refusal need not wait for the imports of a whole server."""

from ipaddress import ip_address

from memlane_core.domain.errors import FailedPrecondition

from .config import Settings


def check_address(settings: Settings) -> None:
    """Raises FailedPrecondition when others could reach a service without TLS or without credentials."""
    server = settings.server
    if _is_loopback(server.host):
        return
    if server.tls_certificate is None and not server.allow_insecure_public:
        raise FailedPrecondition(
            f"server.host {server.host} can be reached by others and no TLS is configured: set "
            "server.tls_certificate and server.tls_key, or serve on 127.0.0.1, or pass --allow-insecure-public if a "
            "proxy in front does TLS"
        )
    asked = settings.auth.configured or server.tls_client_auth == "required"
    if not asked and not server.allow_unauthenticated_public:
        raise FailedPrecondition(
            f"server.host {server.host} can be reached by others and no credentials are asked for: set "
            "auth.jwks_file or server.tls_client_ca, or serve on 127.0.0.1, or pass --allow-unauthenticated-public "
            "if a proxy in front authenticates"
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.startswith("unix:"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
