"""Why a credential was not taken. No text holds any part of the credential."""

from memlane_core.domain.errors import Unauthenticated


class TokenInvalid(Unauthenticated):
    """The token cannot be trusted."""

    reason = "TOKEN_INVALID"

    def __init__(self, check: str, text: str) -> None:
        super().__init__(text, metadata={"check": check})


class KeyUnknown(TokenInvalid):
    """The token names a key that is not there, or not there yet."""

    def __init__(self) -> None:
        super().__init__("kid", "the token names no key of the issuer")


class TokenExpired(Unauthenticated):
    """The token was good once."""

    reason = "TOKEN_EXPIRED"

    def __init__(self) -> None:
        super().__init__("the token has expired")


class CertificateUnknown(Unauthenticated):
    """A trusted client certificate that no entry of `auth.clients` names."""

    reason = "CERTIFICATE_UNKNOWN"
