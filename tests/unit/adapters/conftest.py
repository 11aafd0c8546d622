"""For adapters that speak HTTP to servers of the tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memlane_server.auth.example_certificates import Authority


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trusted") / "ca.pem"
    path.write_bytes(Authority().pem)
    return path


@pytest.fixture(autouse=True, scope="module")
def _few_certificates(one_certificate: Path) -> Iterator[None]:
    """The HTTP client reads all certificates that the machine trusts, 40 ms, each time that one is made; no TLS is
    spoken here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "SSL_CERT_FILE", str(one_certificate))
        yield
