"""TLS on real sockets: versions, reloading, client certificates, and what is said of files that cannot be used."""

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from memlane.v1 import diagnostics_service_pb2 as pb
from memlane_core.domain.errors import FailedPrecondition
from memlane_core.services.call import Call
from memlane_server import tls
from memlane_server.auth import Authenticator, AuthSettings, ClientCertificate, issuing
from memlane_server.auth.example_certificates import Authority
from memlane_server.health import HealthBoard
from memlane_server.interceptors import Edge, Lane, unary
from memlane_server.permissions import Permission, Reach
from memlane_server.principal import Caller, Principal, single
from tests.support.credentials import Context, bearing, reason, settings, signed

from .test_interceptors import failure

AUTHORITY = Authority()
HOSTS = ("localhost", "127.0.0.1")


def write(path: Path, content: bytes) -> None:
    """Replace a file as a whole."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)


def write_pair(files: tls.CertificateFiles, pair: tuple[bytes, bytes]) -> None:
    write(files.certificate, pair[0])
    write(files.key, pair[1])


@pytest.fixture
def files(tmp_path: Path) -> tls.CertificateFiles:
    made = tls.CertificateFiles(tmp_path / "server.pem", tmp_path / "server-key.pem")
    write_pair(made, AUTHORITY.server(HOSTS))
    return made


@pytest.fixture
def mutual(files: tls.CertificateFiles) -> tls.CertificateFiles:
    ca = files.certificate.with_name("client-ca.pem")
    ca.write_bytes(AUTHORITY.pem)
    return tls.CertificateFiles(files.certificate, files.key, ca)


@asynccontextmanager
async def serving(files: tls.CertificateFiles, caller: Caller | None = None) -> AsyncIterator[int]:
    """A server whose one method tells who calls; its port."""
    board = HealthBoard()
    board.set_ready()

    async def who(request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        return pb.EchoResponse(payload=f"{call.tenant} {call.actor}".encode())

    permissions = {"/t/Who": Permission(Reach.OPEN)}
    edge = Edge(board, caller or single(Principal("bank", "anybody")), permissions=permissions)
    method = unary(edge, Lane("test", None, 30.0), "/t/Who", pb.EchoRequest, who)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", {"Who": method}),))
    port = server.add_secure_port("127.0.0.1:0", tls.credentials(files))
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


async def ask(
    port: int, client: tuple[bytes, bytes] | None = None, token: str | None = None
) -> pb.EchoResponse:
    certificate, key = client or (None, None)
    credentials = grpc.ssl_channel_credentials(AUTHORITY.pem, key, certificate)
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
        method = channel.unary_unary("/t/Who", response_deserializer=pb.EchoResponse.FromString)
        answer: pb.EchoResponse = await method(b"", metadata=metadata, timeout=10)
        return answer


async def shown(port: int, *, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> tuple[str, int]:
    """The version that was agreed on and the serial number of the certificate that the server showed."""

    def handshake() -> tuple[str, int]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # So that the client would also speak the versions that are out of use, and the server has to refuse.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
        context.load_verify_locations(cadata=AUTHORITY.pem.decode())
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            raw = secured.getpeercert(binary_form=True)
            assert raw is not None
            return secured.version() or "", x509.load_der_x509_certificate(raw).serial_number

    return await asyncio.to_thread(handshake)


def serial(files: tls.CertificateFiles) -> int:
    return x509.load_pem_x509_certificate(files.certificate.read_bytes()).serial_number


async def test_only_current_versions_are_spoken(files: tls.CertificateFiles) -> None:
    async with serving(files) as port:
        assert (await shown(port, version=ssl.TLSVersion.TLSv1_3))[0] == "TLSv1.3"
        assert (await shown(port, version=ssl.TLSVersion.TLSv1_2))[0] == "TLSv1.2"
        with pytest.warns(DeprecationWarning), pytest.raises(ssl.SSLError):
            await shown(port, version=ssl.TLSVersion.TLSv1_1)
        assert (await ask(port)).payload == b"bank anybody"


async def test_plain_text_is_not_understood(files: tls.CertificateFiles) -> None:
    async with serving(files) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        assert (await failure(channel.unary_unary("/t/Who")(b"", timeout=5)))[0] == "UNAVAILABLE"


async def test_new_certificates_are_taken_without_a_restart(files: tls.CertificateFiles) -> None:
    async with serving(files) as port:
        first = serial(files)
        assert (await shown(port))[1] == first
        write_pair(files, AUTHORITY.server(HOSTS))
        assert first != serial(files)
        assert (await shown(port))[1] == serial(files)
        assert (await ask(port)).payload == b"bank anybody"


async def test_what_cannot_be_used_leaves_the_old_certificate(
    files: tls.CertificateFiles, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    async with serving(files) as port:
        old, old_pair = serial(files), (files.certificate.read_bytes(), files.key.read_bytes())
        new = AUTHORITY.server(HOSTS)
        # As it is between the two moves of a replaced pair, then broken, expired and gone.
        write(files.certificate, new[0])
        assert (await shown(port))[1] == (await shown(port))[1] == old
        write(files.key, b"-----BEGIN PRIVATE KEY-----\nbroken\n")
        assert (await shown(port))[1] == old
        write_pair(files, AUTHORITY.server(HOSTS, end=datetime.now(UTC) - timedelta(seconds=1)))
        assert (await shown(port))[1] == old
        os.unlink(files.certificate)  # noqa: PTH108 - reads like what an operator does
        assert (await shown(port))[1] == (await shown(port))[1] == old
        told = [r.getMessage() for r in caplog.records]
        assert len(told) == 4, "once for each state of the files"
        for text, word in zip(
            told, ("is not the key of", "no private key", "expired", "cannot be read"), strict=True
        ):
            assert word in text
        write_pair(files, new)
        assert (await shown(port))[1] == serial(files) != old
        write_pair(files, old_pair)
        assert (await shown(port))[1] == old


class TestClientCertificates:
    async def test_without_a_trusted_certificate_there_is_no_connection(
        self, mutual: tls.CertificateFiles
    ) -> None:
        async with serving(mutual) as port:
            for client in (None, Authority("stranger").client("core-banking")):
                assert (await failure(ask(port, client)))[0] == "UNAVAILABLE"
            assert (await ask(port, AUTHORITY.client("core-banking"))).payload == b"bank anybody"

    async def test_a_certificate_is_a_credential(self, mutual: tls.CertificateFiles) -> None:
        door = Authenticator(
            AuthSettings(
                clients=(
                    ClientCertificate(common_name="core-banking", tenant="bank-1", scopes=("memory:read",)),
                    ClientCertificate(uri="spiffe://bank/assistant", tenant="bank-2", scopes=()),
                )
            )
        )
        async with serving(mutual, door) as port:
            assert (await ask(port, AUTHORITY.client("core-banking"))).payload == b"bank-1 core-banking"
            spiffe = AUTHORITY.client("x", uri="spiffe://bank/assistant")
            assert (await ask(port, spiffe)).payload == b"bank-2 spiffe://bank/assistant"
            for unknown in (
                AUTHORITY.client("Core-Banking"),
                AUTHORITY.client("core-banking "),
                AUTHORITY.client("spiffe://bank/assistant"),
                AUTHORITY.client("x", uri="spiffe://bank/assistant/"),
                # Two entries name it: nobody can say as whom it comes.
                AUTHORITY.client("core-banking", uri="spiffe://bank/assistant"),
            ):
                code, why, _ = await failure(ask(port, unknown))
                assert (code, why) == ("UNAUTHENTICATED", "CERTIFICATE_UNKNOWN")
            # This server checks no tokens: one that comes all the same must not be passed over.
            code, why, _ = await failure(ask(port, AUTHORITY.client("core-banking"), "a.b.c"))
            assert (code, why) == ("UNAUTHENTICATED", "UNAUTHENTICATED")

    async def test_a_token_goes_before_a_certificate_of_the_same_tenant(
        self, mutual: tls.CertificateFiles, tmp_path: Path
    ) -> None:
        key = issuing.new_key("ES256")
        (tmp_path / "jwks.json").write_text(issuing.jwks(key))
        clients = ({"common_name": "gateway", "tenant": "bank", "scopes": ["memory:read"]},)
        door = Authenticator(settings(tmp_path / "jwks.json", clients=clients))
        gateway, other = AUTHORITY.client("gateway"), AUTHORITY.client("sidecar")
        async with serving(mutual, door) as port:
            assert (await ask(port, gateway)).payload == b"bank gateway"
            assert (await ask(port, gateway, signed(key))).payload == b"bank svc-assistant"
            assert (await ask(port, other, signed(key))).payload == b"bank svc-assistant"
            assert (await failure(ask(port, gateway, signed(key, tenant="other-bank"))))[1] == "TOKEN_INVALID"
            assert (await failure(ask(port, gateway, "a.b.c")))[1] == "TOKEN_INVALID", (
                "the certificate is no fallback"
            )


def test_a_certificate_of_many_names_is_looked_up_by_all_of_them() -> None:
    door = Authenticator(AuthSettings(clients=(ClientCertificate(uri="spiffe://a", tenant="t", scopes=()),)))
    peer = {"x509_pem_cert": (b"1",), "peer_uri": (b"spiffe://b", b"spiffe://a")}
    assert door(Context(peer=peer)).tenant == "t"
    assert reason(lambda: door(Context())) == ("UNAUTHENTICATED", "")
    assert reason(lambda: door(bearing("x"))) == ("UNAUTHENTICATED", "")


class TestFilesThatCannotBeUsed:
    def read(self, files: tls.CertificateFiles) -> str:
        with pytest.raises(FailedPrecondition) as caught:
            tls.credentials(files)
        return caught.value.message

    def test_missing(self, files: tls.CertificateFiles, tmp_path: Path) -> None:
        gone = tmp_path / "gone.pem"
        assert self.read(tls.CertificateFiles(gone, files.key)).startswith("server.tls_certificate")
        assert self.read(tls.CertificateFiles(files.certificate, gone)).startswith("server.tls_key")
        told = self.read(tls.CertificateFiles(files.certificate, files.key, gone))
        assert told.startswith("server.tls_client_ca") and "No such file" in told

    def test_wrong_content(self, files: tls.CertificateFiles, tmp_path: Path) -> None:
        text = tmp_path / "text.pem"
        text.write_text("hello")
        assert "no certificate in PEM" in self.read(tls.CertificateFiles(text, files.key))
        assert "no private key in PEM" in self.read(tls.CertificateFiles(files.certificate, text))
        assert "no certificate in PEM" in self.read(tls.CertificateFiles(files.certificate, files.key, text))
        assert "no private key" in self.read(tls.CertificateFiles(files.certificate, files.certificate))

    def test_the_key_of_another_certificate(self, files: tls.CertificateFiles) -> None:
        write(files.key, AUTHORITY.server(HOSTS)[1])
        told = self.read(files)
        assert str(files.key) in told and "is not the key of server.tls_certificate" in told

    def test_a_key_with_a_password(self, files: tls.CertificateFiles) -> None:
        key = issuing.read_private_key(files.key)
        form = (Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password"))
        write(files.key, key.private_bytes(*form))
        assert "without a password" in self.read(files)

    def test_a_time_that_is_over_or_not_yet_there(self, files: tls.CertificateFiles) -> None:
        now = datetime.now(UTC)
        write_pair(files, AUTHORITY.server(HOSTS, end=now - timedelta(minutes=1)))
        assert "server.tls_certificate" in self.read(files) and "expired on" in self.read(files)
        write_pair(files, AUTHORITY.server(HOSTS, begin=now + timedelta(hours=1)))
        assert "not valid before" in self.read(files)
