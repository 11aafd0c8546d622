"""How a client connects: plain text or TLS, credentials, metadata, the life of the connection."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import memlane
from memlane import TLS, ClientOptions
from memlane.options import is_loopback
from tests.client.callers import CALLERS, Caller
from tests.client.scripted_server import ScriptedServer

Connect = Callable[..., Caller]


@pytest.mark.parametrize(
    ("target", "loopback"),
    [
        ("127.0.0.1:7070", True),
        ("localhost:7070", True),
        ("127.8.9.1", True),
        ("[::1]:7070", True),
        ("::1", True),
        ("unix:/run/memlane.sock", True),
        ("unix:///run/memlane.sock", True),
        ("dns:///localhost:7070", True),
        ("ipv4:127.0.0.1:7070,127.0.0.2:7070", True),
        ("ipv4:127.0.0.1:7070,10.0.0.2:7070", False),
        ("ipv6:[::1]:7070", True),
        ("dns:///memlane.bank.example:443", False),
        ("localhost.bank.example:7070", False),
        ("10.0.0.7:7070", False),
        ("[2001:db8::1]:7070", False),
        ("0.0.0.0:7070", False),
    ],
)
def test_plain_text_only_to_this_machine(target: str, loopback: bool) -> None:
    assert is_loopback(target) is loopback
    assert ClientOptions(target=target).plain_text is loopback
    assert ClientOptions(target=target, insecure=True).plain_text
    assert not ClientOptions(target=target, insecure=False).plain_text
    assert not ClientOptions(target=target, tls=TLS()).plain_text


def test_contradictions_are_refused() -> None:
    for wrong in (
        lambda: memlane.Client(insecure=True, tls=TLS()),
        lambda: memlane.Client(keepalive_seconds=1.0),
        lambda: memlane.Client(retry=memlane.RetryPolicy(max_attempts=0)),
        lambda: memlane.AsyncClient(tls=TLS(client_key=b"key without certificate")),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_a_certificate_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        memlane.AsyncClient(tls=TLS(root_certificates=tmp_path / "none.pem"))


def test_the_token_is_sent_and_never_shown(connect: Connect, server: ScriptedServer) -> None:
    caller = connect(token="s3cret", metadata=[("traceparent", "00-ab-cd-01")])
    caller.call("echo", b"x")
    assert server.seen[0].metadata["authorization"] == "Bearer s3cret"
    assert server.seen[0].metadata["traceparent"] == "00-ab-cd-01"
    assert str(server.seen[0].metadata["user-agent"]).startswith("memlane-python/")
    assert "s3cret" not in repr(caller.client) + repr(ClientOptions(token="s3cret"))


def test_a_token_that_changes_is_asked_for_each_call(connect: Connect, server: ScriptedServer) -> None:
    tokens = iter(["one", "two"])
    caller = connect(token=lambda: next(tokens), metadata=lambda: [("x-trace", "t")])
    caller.call("echo")
    caller.call("echo")
    assert [call.metadata["authorization"] for call in server.seen] == ["Bearer one", "Bearer two"]
    assert [call.metadata["x-trace"] for call in server.seen] == ["t", "t"]


def test_no_token_no_header(caller: Caller, server: ScriptedServer) -> None:
    caller.call("echo")
    assert "authorization" not in server.seen[0].metadata


def test_large_answers_pass_and_the_limit_is_ours_to_set(connect: Connect, server: ScriptedServer) -> None:
    payload = bytes(5 * 2**20)

    def big(request: object, context: grpc.ServicerContext) -> object:
        return memlane.v1.diagnostics_service_pb2.EchoResponse(payload=payload)

    server.then("Echo", big, big)
    assert len(connect().call("echo")) == len(payload)
    with pytest.raises(memlane.ResourceExhausted):
        connect(max_receive_bytes=2**20).call("echo")


def test_a_closed_client_says_so(caller: Caller) -> None:
    caller.call("echo")
    caller.call("close")
    with pytest.raises(ValueError, match="closed"):
        caller.call("echo")
    with pytest.raises(ValueError, match="closed"):
        caller.call("get_server_info")


class Authority:
    """A certificate authority of its own, as PEM files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.root = self._write("root.pem", self._sign(self._name, self._key, authority=True))

    def issue(self, name: str) -> tuple[Path, Path]:
        """Certificate and key for this machine."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        plain = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return self._write(f"{name}.pem", self._sign(subject, key)), self._write(f"{name}.key", plain)

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, authority: bool = False) -> bytes:
        now = datetime.now(UTC)
        names = x509.SubjectAlternativeName(
            [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("memlane.test")]
        )
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(names, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)

    def _write(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(content)
        return path


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def mutual(authority: Authority) -> Iterator[ScriptedServer]:
    """A server that asks for a client certificate."""
    certificate, key = authority.issue("server")
    credentials = grpc.ssl_server_credentials(
        ((key.read_bytes(), certificate.read_bytes()),), authority.root.read_bytes(), require_client_auth=True
    )
    server = ScriptedServer(credentials).start()
    yield server
    server.stop()


@pytest.mark.parametrize("kind", sorted(CALLERS))
def test_mutual_tls(kind: str, mutual: ScriptedServer, authority: Authority) -> None:
    certificate, key = authority.issue("client")
    tls = TLS(authority.root, certificate, key.read_bytes(), server_name="memlane.test")
    caller = CALLERS[kind](mutual.target, tls=tls, token="t")
    caller.call("echo", timeout=30.0)
    caller.close()
    assert mutual.seen[0].metadata["authorization"] == "Bearer t"


def test_a_client_without_certificate_gets_nowhere(mutual: ScriptedServer, authority: Authority) -> None:
    with memlane.Client(mutual.target, tls=TLS(authority.root)) as client, pytest.raises(memlane.Unavailable):
        client.echo(timeout=30.0)
    assert mutual.seen == []
