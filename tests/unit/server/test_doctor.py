"""What the doctor says of certificates and credentials."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memlane_core.domain.errors import FailedPrecondition
from memlane_server.address import check_address
from memlane_server.auth import issuing
from memlane_server.auth.example_certificates import Authority
from memlane_server.config import Settings
from memlane_server.doctor import examine_credentials
from tests.support.credentials import AUDIENCE, ISSUER, SECRET

AUTHORITY = Authority()


def told(**settings: object) -> dict[str, tuple[bool, str]]:
    return {f.part: (f.good, f.text) for f in examine_credentials(Settings(**settings))}  # type: ignore[arg-type]


def server(directory: Path, pair: tuple[bytes, bytes], **more: str) -> dict[str, str]:
    (directory / "server.pem").write_bytes(pair[0])
    (directory / "server-key.pem").write_bytes(pair[1])
    return {
        "tls_certificate": str(directory / "server.pem"),
        "tls_key": str(directory / "server-key.pem"),
        **more,
    }


def test_nothing_configured_is_said_plainly() -> None:
    found = told()
    assert found["certificates"] == (True, "none: plain text")
    assert found["credentials"][0] and "with every right" in found["credentials"][1]


def test_certificates(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    good = told(server=server(tmp_path, AUTHORITY.server(("localhost",))))["certificates"]
    assert good[0] and "valid until" in good[1] and "need no certificate" in good[1]
    (tmp_path / "ca.pem").write_bytes(AUTHORITY.pem)
    mutual = {"tls_client_ca": str(tmp_path / "ca.pem"), "tls_client_auth": "required"}
    good = told(server=server(tmp_path, AUTHORITY.server(("localhost",)), **mutual))["certificates"]
    assert good[0] and "must show a certificate" in good[1]

    old = AUTHORITY.server(("localhost",), begin=now - timedelta(days=100), end=now + timedelta(days=9))
    bad = told(server=server(tmp_path, old))["certificates"]
    assert not bad[0] and "renew it now" in bad[1]
    # A certificate that is made to live for an hour is no reason to worry.
    short = AUTHORITY.server(("localhost",), end=now + timedelta(hours=1))
    assert told(server=server(tmp_path, short))["certificates"][0]
    over = AUTHORITY.server(("localhost",), begin=now - timedelta(days=2), end=now - timedelta(days=1))
    bad = told(server=server(tmp_path, over))["certificates"]
    assert not bad[0] and "expired on" in bad[1]


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    auth = {"jwks_file": str(path), "issuer": ISSUER, "audience": AUDIENCE}
    bad = told(auth=auth)["credentials"]
    assert not bad[0] and "cannot be read" in bad[1]
    path.write_text(issuing.jwks(issuing.new_key("ES256"), issuing.new_key("RS256")))
    good = told(auth=auth)["credentials"]
    assert good == (True, f"tokens of {ISSUER} for {AUDIENCE}, keys: ES256, RS256")
    secret = told(auth={"hs256_secret": SECRET})["credentials"]
    assert secret[0] and "development only" in secret[1] and SECRET not in secret[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "memlane.bank.example"])
def test_an_address_that_others_reach_needs_both(tmp_path: Path, host: str) -> None:
    tls = server(tmp_path, AUTHORITY.server(("localhost",)))
    auth = {"hs256_secret": SECRET}
    check_address(Settings(server={"host": host, **tls}, auth=auth))  # type: ignore[arg-type]
    with pytest.raises(FailedPrecondition, match="no TLS"):
        check_address(Settings(server={"host": host}, auth=auth))  # type: ignore[arg-type]
    with pytest.raises(FailedPrecondition, match="no credentials"):
        check_address(Settings(server={"host": host, **tls}))  # type: ignore[arg-type]
    check_address(Settings(server={"host": host, **tls, "allow_unauthenticated_public": True}))  # type: ignore[arg-type]
    check_address(Settings())
