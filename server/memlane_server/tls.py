"""Certificates of the server: checked before they are used, and taken anew when their files change."""

import logging
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from memlane_core.domain.errors import FailedPrecondition

_log = logging.getLogger(__name__)

_CERTIFICATE = "server.tls_certificate"
_KEY = "server.tls_key"
_CLIENT_CA = "server.tls_client_ca"


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """PEM files. `client_ca` = who signs the certificates of clients; with it, a client must have one."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def read(self) -> "Certificates":
        """Raises FailedPrecondition naming the setting and what is wrong."""
        chain = _read(_CERTIFICATE, self.certificate)
        key = _read(_KEY, self.key)
        client_ca = None if self.client_ca is None else _read(_CLIENT_CA, self.client_ca)
        own = _check_pair(self, chain, key)
        if client_ca is not None:
            _parsed(f"{_CLIENT_CA} {self.client_ca}", client_ca)
        return Certificates(key, chain, client_ca, own.not_valid_before_utc, own.not_valid_after_utc)

    def signature(self) -> tuple[tuple[int, int, int], ...]:
        """Differs when one of the files was replaced or changed. Raises OSError."""
        paths = (self.certificate, self.key, self.client_ca)
        stats = [os.stat(path) for path in paths if path is not None]  # noqa: PTH116 - follows links, as open does
        return tuple((s.st_mtime_ns, s.st_size, s.st_ino) for s in stats)


@dataclass(frozen=True, slots=True)
class Certificates:
    """What was read and fits together, as PEM."""

    key: bytes
    chain: bytes
    client_ca: bytes | None
    begin: datetime
    until: datetime
    """Between these moments the server's own certificate is valid."""

    def configuration(self) -> object:
        return grpc.ssl_server_certificate_configuration(
            [(self.key, self.chain)], root_certificates=self.client_ca
        )


def credentials(files: CertificateFiles) -> grpc.ServerCredentials:
    """For a port; every handshake uses what the files hold at that time. Raises FailedPrecondition.

    gRPC speaks TLS 1.2 and 1.3 only, with forward secrecy and authenticated ciphers.
    """
    watch = _Watch(files)
    return grpc.dynamic_ssl_server_credentials(
        watch.current.configuration(),
        watch.changed,
        require_client_authentication=files.client_ca is not None,
    )


class _Watch:
    """Asked by gRPC's threads before each handshake."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._signature = self._look()
        self.current = files.read()

    def changed(self) -> object | None:
        """New certificates; None while the old ones hold. What cannot be used is logged once and leaves the old
        ones in place: half of a new pair is met whenever two files are replaced."""
        with self._lock:
            signature = self._look()
            if signature == self._signature:
                return None
            self._signature = signature
            try:
                self.current = self._files.read()
            except FailedPrecondition as error:
                _log.error("the certificates that hold stay: %s", error.message)
                return None
            _log.info("took new certificates", extra={"until": self.current.until.isoformat()})
            return self.current.configuration()

    def _look(self) -> tuple[tuple[int, int, int], ...] | None:
        """None = a file is missing: `read` says which."""
        try:
            return self._files.signature()
        except OSError:
            return None


def due(certificates: Certificates) -> bool:
    """Whether the certificate should have been renewed: less than a tenth of its time is left."""
    left = certificates.until - datetime.now(UTC)
    return left < (certificates.until - certificates.begin) / 10


def _read(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FailedPrecondition(f"{setting} {path} cannot be read: {error.strerror}") from None


def _parsed(where: str, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise FailedPrecondition(f"{where} holds no certificate in PEM") from None


def _check_pair(files: CertificateFiles, chain: bytes, key: bytes) -> x509.Certificate:
    """The server's own certificate. Raises FailedPrecondition."""
    where = f"{_CERTIFICATE} {files.certificate}"
    own = _parsed(where, chain)[0]
    try:
        private = load_pem_private_key(key, password=None)
    except TypeError:
        raise FailedPrecondition(f"{_KEY} {files.key} is encrypted; give it without a password") from None
    except ValueError:
        raise FailedPrecondition(f"{_KEY} {files.key} holds no private key in PEM") from None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if private.public_key().public_bytes(*form) != own.public_key().public_bytes(*form):
        raise FailedPrecondition(f"{_KEY} {files.key} is not the key of {where}")
    now = datetime.now(UTC)
    if now >= own.not_valid_after_utc:
        raise FailedPrecondition(f"{where} expired on {own.not_valid_after_utc:%Y-%m-%d %H:%M} UTC")
    if now < own.not_valid_before_utc:
        raise FailedPrecondition(f"{where} is not valid before {own.not_valid_before_utc:%Y-%m-%d %H:%M} UTC")
    return own
