"""An authority with certificates for a server and its clients, to try TLS with."""

import ipaddress
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from .issuing import new_key, private_pem, write_secret

_SLACK = timedelta(minutes=5)
"""Certificates begin a little earlier, for clocks that differ."""


class Authority:
    """Signs certificates; its own goes to whoever should trust them."""

    def __init__(self, name: str = "memlane example authority", *, days: float = 30.0) -> None:
        self._key = new_key("ES256")
        self._name = _name(name)
        self._until = datetime.now(UTC) + timedelta(days=days)
        self._certificate = (
            _builder(self._name, self._name, self._key, datetime.now(UTC) - _SLACK, self._until)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return private_pem(self._key)

    def server(
        self, hosts: Sequence[str], *, begin: datetime | None = None, end: datetime | None = None
    ) -> tuple[bytes, bytes]:
        """(certificate, key) as PEM for a server that is reached under these names and addresses."""
        return self._leaf(hosts[0], map(_host, hosts), ExtendedKeyUsageOID.SERVER_AUTH, begin, end)

    def client(self, common_name: str, *, uri: str = "") -> tuple[bytes, bytes]:
        """(certificate, key) as PEM for a client."""
        names = [x509.UniformResourceIdentifier(uri)] if uri else []
        return self._leaf(common_name, names, ExtendedKeyUsageOID.CLIENT_AUTH, None, None)

    def _leaf(
        self,
        common_name: str,
        names: Iterable[x509.GeneralName],
        usage: ObjectIdentifier,
        begin: datetime | None,
        end: datetime | None,
    ) -> tuple[bytes, bytes]:
        key = new_key("ES256")
        begin = begin or datetime.now(UTC) - _SLACK
        builder = _builder(_name(common_name), self._name, key, begin, end or self._until)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        alternatives = list(names)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM), private_pem(key)


def write_examples(
    directory: Path, *, hosts: Sequence[str], clients: Sequence[str], days: float
) -> list[Path]:
    """ca.pem, server.pem, one <client>.pem each, and a key beside each. Raises FailedPrecondition rather than replace
    a file."""
    directory.mkdir(parents=True, exist_ok=True)
    authority = Authority(days=days)
    pairs = {"ca": (authority.pem, authority.key_pem), "server": authority.server(hosts)}
    pairs |= {client: authority.client(client) for client in clients}
    written: list[Path] = []
    for name, (certificate, key) in pairs.items():
        for path, content in (
            (directory / f"{name}-key.pem", key),
            (directory / f"{name}.pem", certificate),
        ):
            write_secret(path, content)
            written.append(path)
    return written


def _builder(
    subject: x509.Name, issuer: x509.Name, key: object, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
