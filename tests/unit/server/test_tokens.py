"""Which tokens open the door, and as whom."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, strategies
from hypothesis import settings as hypothesis_settings
from pydantic import ValidationError

from memlane_core.domain.errors import FailedPrecondition, Unauthenticated
from memlane_server.auth import Authenticator, AuthSettings, issuing
from memlane_server.auth.authenticator import MAX_KNOWN_TOKENS, MAX_TOKEN_BYTES
from memlane_server.auth.keys import read_jwks
from memlane_server.principal import SCOPES, Principal
from tests.support.credentials import SECRET, Context, bearing, claims, reason, settings, signed

EC_KEY = issuing.new_key("ES256")
RSA_KEY = issuing.new_key("RS256")
STRANGER = issuing.new_key("ES256")


@pytest.fixture
def jwks_file(tmp_path: Path) -> Path:
    path = tmp_path / "jwks.json"
    path.write_text(issuing.jwks(EC_KEY, RSA_KEY))
    return path


@pytest.fixture
def door(jwks_file: Path) -> Authenticator:
    return Authenticator(settings(jwks_file))


def segment(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def by_hand(header: Any, payload: Any, secret: bytes | None = None) -> str:
    """A token that no library would make."""
    body = f"{segment(header)}.{segment(payload)}"
    signature = b"" if secret is None else hmac.digest(secret, body.encode(), hashlib.sha256)
    return f"{body}.{segment(signature)}"


@pytest.mark.parametrize("key", [EC_KEY, RSA_KEY], ids=["ES256", "RS256"])
def test_a_good_token_is_its_principal(door: Authenticator, key: Any) -> None:
    expected = Principal("bank", "svc-assistant", None, frozenset(("memory:read", "memory:write")))
    token = signed(key)
    assert door(bearing(token)) == expected
    assert door(bearing(token, "bearer ")) == door(bearing(token, "BEARER   ")) == expected


@pytest.mark.parametrize(
    ("changes", "principal"),
    [
        ({"user_id": "客户-1", "scope": ""}, Principal("bank", "svc-assistant", "客户-1", frozenset())),
        ({"scope": ["compliance", "openid"]}, Principal("bank", "svc-assistant", None, frozenset(("compliance",)))),
        ({"scope": None}, Principal("bank", "svc-assistant", None, frozenset())),
        ({"scope": "Memory:Read memory:read\u00a0 *"}, Principal("bank", "svc-assistant", None, frozenset())),
        ({"aud": ["other", "memlane"], "scope": ""}, Principal("bank", "svc-assistant", None, frozenset())),
        ({"sub": "王小明", "scope": ""}, Principal("bank", "王小明", None, frozenset())),
    ],
)  # fmt: skip
def test_claims_become_rights(door: Authenticator, changes: dict[str, Any], principal: Principal) -> None:
    assert door(bearing(signed(EC_KEY, **changes))) == principal


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"iss": "https://evil.example"}, "iss"),
        ({"iss": None}, "iss"),
        ({"aud": "other"}, "aud"),
        ({"aud": None}, "aud"),
        ({"aud": {"memlane": 1}}, "aud"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": "a\nb"}, "sub"),
        ({"sub": "x" * 129}, "sub"),
        ({"exp": None}, "exp"),
        ({"exp": "soon"}, "form"),
        ({"nbf": time.time() + 3600}, "time"),
        ({"iat": time.time() + 3600}, "time"),
        ({"tenant": None}, "tenant"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": 7}, "tenant"),
        ({"tenant": ["bank"]}, "tenant"),
        ({"tenant": {"id": "bank"}}, "tenant"),
        ({"tenant": "../other"}, "tenant"),
        ({"tenant": "bank/../other"}, "tenant"),
        ({"tenant": "bank\n"}, "tenant"),
        ({"tenant": "bank\x00other"}, "tenant"),
        ({"tenant": "b' or '1'='1"}, "tenant"),
        ({"tenant": "银行"}, "tenant"),
        ({"tenant": "b" * 33}, "tenant"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "global"}, "user_id"),
        ({"user_id": 7}, "user_id"),
        ({"user_id": ["a", "b"]}, "user_id"),
        ({"user_id": "张" * 22}, "user_id"),
        ({"scope": 7}, "scope"),
        ({"scope": ["memory:read", 7]}, "scope"),
        ({"scope": {"memory:read": True}}, "scope"),
    ],
)
def test_a_wrong_claim_closes_the_door(door: Authenticator, changes: dict[str, Any], check: str) -> None:
    assert reason(lambda: door(bearing(signed(EC_KEY, **changes)))) == ("TOKEN_INVALID", check)


def test_a_claim_of_null_is_no_missing_claim(door: Authenticator) -> None:
    """A token bound to nobody must not be a token for everybody."""
    token = jwt.encode({**claims(), "user_id": None}, EC_KEY, "ES256", {"kid": issuing.jwk(EC_KEY)["kid"]})
    assert reason(lambda: door(bearing(token))) == ("TOKEN_INVALID", "user_id")


def test_time_runs_out_with_a_little_leeway(door: Authenticator) -> None:
    now = time.time()
    assert door(bearing(signed(EC_KEY, exp=int(now) - 2)))
    assert reason(lambda: door(bearing(signed(EC_KEY, exp=int(now) - 8)))) == ("TOKEN_EXPIRED", "")
    assert door(bearing(signed(EC_KEY, nbf=int(now) + 3)))


def test_a_known_token_is_forgotten_when_its_time_is_over(jwks_file: Path) -> None:
    clock = [time.time()]
    door = Authenticator(settings(jwks_file), now=lambda: clock[0])
    context = bearing(signed(EC_KEY, exp=int(clock[0]) + 100))
    first = door(context)
    clock[0] += 100
    assert door(context) is first, "within the leeway, and not made anew"
    # Verification looks at the real clock, on which the token is still good: what counts here is that it was asked.
    clock[0] += 6
    assert door(context) is not first


class TestAlgorithms:
    """The algorithm belongs to the key. What a token says about itself is compared, never believed."""

    def test_none_is_no_algorithm(self, door: Authenticator) -> None:
        kid = issuing.jwk(EC_KEY)["kid"]
        for name in ("none", "None", "NONE", "nOnE", "", None, ["ES256"], {"ES256": 1}, 0):
            for header in ({"alg": name, "kid": kid}, {"alg": name}):
                refusal = reason(lambda header=header: door(bearing(by_hand(header, claims()))))  # type: ignore[misc]
                assert refusal[0] == "TOKEN_INVALID", name

    def test_a_public_key_is_no_secret(self, door: Authenticator) -> None:
        """The classic: the public key, which everybody has, used as the secret of an HMAC."""
        for key in (RSA_KEY, EC_KEY):
            own = issuing.jwk(key)
            public = key.public_key()
            forms = (
                public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
                public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
                json.dumps(own).encode(),
            )
            for secret in forms:
                for algorithm in ("HS256", own["alg"]):
                    token = by_hand({"alg": algorithm, "kid": own["kid"]}, claims(), secret)
                    assert reason(lambda token=token: door(bearing(token)))[0] == "TOKEN_INVALID"  # type: ignore[misc]

    def test_a_key_of_one_kind_signs_for_no_other(self, door: Authenticator) -> None:
        ec_kid, rsa_kid = issuing.jwk(EC_KEY)["kid"], issuing.jwk(RSA_KEY)["kid"]
        assert reason(lambda: door(bearing(signed(EC_KEY, {"kid": rsa_kid})))) == ("TOKEN_INVALID", "alg")
        assert reason(lambda: door(bearing(signed(RSA_KEY, {"kid": ec_kid})))) == ("TOKEN_INVALID", "alg")
        for algorithm in ("RS384", "RS512", "PS256"):
            token = jwt.encode(claims(), RSA_KEY, algorithm, {"kid": rsa_kid})
            assert reason(lambda token=token: door(bearing(token))) == ("TOKEN_INVALID", "alg")  # type: ignore[misc]

    def test_keys_in_the_token_itself_are_not_looked_at(self, door: Authenticator) -> None:
        own = issuing.jwk(STRANGER)
        for headers in (
            {"jwk": own},
            {"jku": "https://evil.example/jwks.json"},
            {"x5u": "https://evil.example/chain.pem"},
            {"kid": own["kid"], "jwk": own},
        ):
            assert reason(lambda headers=headers: door(bearing(signed(STRANGER, headers)))) == (  # type: ignore[misc]
                "TOKEN_INVALID",
                "kid",
            )

    def test_a_strangers_signature_under_a_known_kid(self, door: Authenticator) -> None:
        kid = issuing.jwk(EC_KEY)["kid"]
        assert reason(lambda: door(bearing(signed(STRANGER, {"kid": kid})))) == ("TOKEN_INVALID", "signature")

    @pytest.mark.parametrize(
        "kid", [None, "", "../../etc/passwd", "x" * 300, 7, ["a"], {"a": 1}, "' or 1=1 --"]
    )
    def test_a_kid_is_a_name_and_nothing_else(self, door: Authenticator, kid: Any) -> None:
        own = issuing.jwk(EC_KEY)
        token = by_hand({"alg": "ES256", "kid": kid} if kid is not None else {"alg": "ES256"}, claims())
        assert own["kid"] != kid
        assert reason(lambda: door(bearing(token)))[0] == "TOKEN_INVALID"

    def test_extensions_that_must_be_understood_are_refused(self, door: Authenticator) -> None:
        for header in ({"crit": ["b64"], "b64": False}, {"crit": ["exp"]}, {"crit": []}):
            kid = issuing.jwk(EC_KEY)["kid"]
            token = by_hand({"alg": "ES256", "kid": kid, **header}, claims())
            assert reason(lambda token=token: door(bearing(token)))[0] == "TOKEN_INVALID"  # type: ignore[misc]

    def test_any_changed_character_breaks_a_token(self, door: Authenticator) -> None:
        token = signed(EC_KEY)
        for position in range(0, len(token), 7):
            other = "A" if token[position] != "A" else "B"
            changed = token[:position] + other + token[position + 1 :]
            if changed.rsplit(".", 1)[0] == token.rsplit(".", 1)[0] and position >= len(token) - 2:
                continue  # the last characters of base64 may hold unused bits
            assert reason(lambda changed=changed: door(bearing(changed)))[0] == "TOKEN_INVALID"  # type: ignore[misc]


class TestForm:
    def test_no_credential(self, door: Authenticator) -> None:
        assert reason(lambda: door(Context())) == ("UNAUTHENTICATED", "")
        assert reason(lambda: door(Context((("x-authorization", "Bearer x"),)))) == ("UNAUTHENTICATED", "")

    @pytest.mark.parametrize("header", ["", "Bearer", "Basic dXNlcjpwYXNz", "Token x", "bearer\tx", "DPoP x"])
    def test_other_schemes(self, door: Authenticator, header: str) -> None:
        assert reason(lambda: door(Context((("authorization", header),)))) == ("UNAUTHENTICATED", "")

    def test_two_headers_are_one_too_many(self, door: Authenticator) -> None:
        good = bearing(signed(EC_KEY)).metadata[1]
        for pair in ((good, good), (good, ("authorization", "Bearer x")), (("authorization", ""), good)):
            assert reason(lambda pair=pair: door(Context(pair))) == ("TOKEN_INVALID", "form")  # type: ignore[misc]

    def test_a_token_has_a_size(self, door: Authenticator) -> None:
        assert reason(lambda: door(bearing("x" * (MAX_TOKEN_BYTES + 1)))) == ("TOKEN_INVALID", "form")
        long = signed(EC_KEY, padding="x" * 4000)
        assert door(bearing(long)).tenant == "bank"

    @hypothesis_settings(max_examples=300, deadline=None)
    @given(text=strategies.text(max_size=200), dots=strategies.integers(0, 4))
    def test_whatever_comes_is_refused_in_order(self, text: str, dots: int) -> None:
        door = Authenticator(AuthSettings(hs256_secret=SECRET))  # type: ignore[arg-type]
        for token in (text, ".".join([segment(text.encode("utf-8", "replace"))] * (dots + 1))):
            with pytest.raises(Unauthenticated) as caught:
                door(bearing(token))
            assert not text or len(text) < 8 or text not in caught.value.message

    @pytest.mark.parametrize(
        "payload",
        [b"", b"null", b"[]", b"7", b'"x"', b"{", b"[" * 100_000, b'{"exp":' + b"9" * 5000 + b"}", b"\xff\xfe"],
    )  # fmt: skip
    def test_signed_nonsense(self, payload: bytes) -> None:
        door = Authenticator(AuthSettings(hs256_secret=SECRET))  # type: ignore[arg-type]
        body = f"{segment({'alg': 'HS256'})}.{segment(payload)}"
        token = f"{body}.{segment(hmac.digest(SECRET.encode(), body.encode(), hashlib.sha256))}"
        assert reason(lambda: door(bearing(token)))[0] == "TOKEN_INVALID"

    def test_refusals_are_told_and_hold_nothing_of_the_token(self, jwks_file: Path) -> None:
        told: list[Unauthenticated] = []
        door = Authenticator(settings(jwks_file), on_refusal=told.append)
        token = signed(STRANGER, tenant="geheim", sub="客户张三")
        for context in (bearing(token), bearing("garbage-in"), Context()):
            with pytest.raises(Unauthenticated):
                door(context)
        assert [e.reason for e in told] == ["TOKEN_INVALID", "TOKEN_INVALID", "UNAUTHENTICATED"]
        for error in told:
            shown = error.message + str(error.metadata)
            assert not {"geheim", "客户张三", "garbage", token[:20]} & set(shown.split())


class TestMemory:
    def test_a_verified_token_is_not_verified_again(self, door: Authenticator) -> None:
        context = bearing(signed(RSA_KEY))
        assert door(context) is door(context)

    def test_the_table_of_known_tokens_is_bounded(self) -> None:
        door = Authenticator(AuthSettings(hs256_secret=SECRET))  # type: ignore[arg-type]
        tokens = [jwt.encode(claims(aud=None, n=n), SECRET, "HS256") for n in range(MAX_KNOWN_TOKENS + 50)]
        first = door(bearing(tokens[0]))
        for token in tokens[1:]:
            door(bearing(token))
        assert len(door._known) == MAX_KNOWN_TOKENS
        assert door(bearing(tokens[0])) is not first, "the oldest had to go"

    def test_keys_may_change_while_the_server_runs(self, jwks_file: Path) -> None:
        clock = [time.time()]
        door = Authenticator(settings(jwks_file), now=lambda: clock[0])
        old = bearing(signed(EC_KEY))
        assert door(old)
        new = issuing.new_key("RS256")
        replace(jwks_file, issuing.jwks(EC_KEY, new))
        assert door(bearing(signed(new))), "a kid never seen is looked for at once"
        replace(jwks_file, issuing.jwks(new, RSA_KEY))
        clock[0] += 2
        assert reason(lambda: door(old)) == ("TOKEN_INVALID", "kid"), "the token went with its key"

    def test_a_broken_file_changes_nothing(self, jwks_file: Path, caplog: pytest.LogCaptureFixture) -> None:
        clock = [time.time()]
        door = Authenticator(settings(jwks_file), now=lambda: clock[0])
        for broken in ("", "{", '{"keys": []}', None):
            if broken is None:
                jwks_file.unlink()
            else:
                replace(jwks_file, broken)
            for _ in range(3):
                clock[0] += 2
                assert door(bearing(signed(EC_KEY)))
        assert len([r for r in caplog.records if r.levelname == "ERROR"]) == 4, "once each"
        replace(jwks_file, issuing.jwks(STRANGER))
        clock[0] += 2
        assert door(bearing(signed(STRANGER)))
        assert reason(lambda: door(bearing(signed(EC_KEY)))) == ("TOKEN_INVALID", "kid")


def replace(path: Path, text: str) -> None:
    """As an operator does it: whole, under another name, then moved into place."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


class TestDevelopment:
    def test_a_shared_secret(self) -> None:
        door = Authenticator(AuthSettings(hs256_secret=SECRET, audience="memlane"))  # type: ignore[arg-type]
        assert door(bearing(jwt.encode(claims(), SECRET, "HS256"))).actor == "svc-assistant"
        assert reason(lambda: door(bearing(jwt.encode(claims(), SECRET[::-1], "HS256")))) == (
            "TOKEN_INVALID",
            "signature",
        )
        assert reason(lambda: door(bearing(signed(EC_KEY)))) == ("TOKEN_INVALID", "kid")
        with pytest.warns(jwt.InsecureKeyLengthWarning):
            longer = jwt.encode(claims(), SECRET, "HS512")
        assert reason(lambda: door(bearing(longer))) == ("TOKEN_INVALID", "alg")

    def test_what_is_minted_is_taken(self, jwks_file: Path) -> None:
        auth = settings(jwks_file, tenant_claim="https://bank/tenant", user_claim="customer")
        wanted = Principal("bank-2", "developer", "张三", SCOPES)
        token = issuing.sign(issuing.claims_of(wanted, auth, 60), EC_KEY)
        assert Authenticator(auth)(bearing(token)) == wanted


class TestSettings:
    @pytest.mark.parametrize(
        ("given", "word"),
        [
            ({"hs256_secret": "short"}, "32 bytes"),
            ({"hs256_secret": SECRET, "jwks_file": "x", "issuer": "i", "audience": "a"}, "exclude"),
            ({"jwks_file": "x", "issuer": "i"}, "audience"),
            ({"jwks_file": "x", "audience": "a"}, "issuer"),
            ({"clients": [{"common_name": "a", "tenant": "../b", "scopes": []}]}, "pattern"),
            ({"clients": [{"common_name": "a", "tenant": "b", "scopes": ["root"]}]}, "unknown scope"),
            ({"clients": [{"common_name": "a", "uri": "spiffe://a", "tenant": "b", "scopes": []}]}, "either"),
            ({"clients": [{"tenant": "b", "scopes": []}]}, "either"),
            (
                {"clients": [{"common_name": "a", "tenant": "b", "scopes": [], "user_id": "global"}]},
                "user id",
            ),
            ({"clients": [{"common_name": "a", "tenant": "b", "scopes": []}] * 2}, "twice"),
        ],
    )
    def test_what_cannot_work_is_refused(self, given: dict[str, Any], word: str) -> None:
        with pytest.raises(ValidationError) as caught:
            AuthSettings(**given)
        assert word in str(caught.value)

    def test_secrets_are_not_shown(self) -> None:
        assert SECRET not in repr(AuthSettings(hs256_secret=SECRET))  # type: ignore[arg-type]


def bad_files() -> Iterator[tuple[str, str]]:
    good = issuing.jwk(EC_KEY)
    small = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    other_curve = {**good, "crv": "P-384"}
    yield "not json", "not a JSON object"
    yield "[]", "not a JSON object"
    yield '{"keys": {}}', "not a JSON object"
    yield '{"keys": [7]}', "not a JSON object"
    yield '{"keys": []}', "no RS256 or ES256 key"
    yield json.dumps({"keys": [{**good, "use": "enc"}]}), "no RS256 or ES256 key"
    yield json.dumps({"keys": [{**good, "alg": "ES512"}]}), "no RS256 or ES256 key"
    yield json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "s"}]}), "is a secret"
    yield json.dumps({"keys": [{**good, "d": "AAAA"}]}), "is a secret"
    yield json.dumps({"keys": [good, good]}), "two keys"
    yield json.dumps({"keys": [good, {**good, "kid": ""}]}), "needs a kid"
    yield json.dumps({"keys": [{**good, "x": "AAAA"}]}), "not a whole EC key"
    yield json.dumps({"keys": [{**good, "x": 7}]}), "not a whole EC key"
    yield json.dumps({"keys": [other_curve]}), "EC key"
    yield issuing.jwks(small), "1024 bits"
    yield "x" * 1_100_000, "more than"


@pytest.mark.parametrize(("text", "word"), list(bad_files()))
def test_a_file_of_keys_that_cannot_be_used_says_why(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(text)
    with pytest.raises(FailedPrecondition) as caught:
        read_jwks(path)
    assert word in caught.value.message and "auth.jwks_file" in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match=r"auth\.jwks_file .*nowhere\.json cannot be read"):
        Authenticator(settings(tmp_path / "nowhere.json"))


def test_keys_of_other_kinds_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    other = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "ed"}
    path.write_text(json.dumps({"keys": [other, issuing.jwk(EC_KEY)]}))
    assert [key.algorithm for key in read_jwks(path).values()] == ["ES256"]


def test_a_token_without_kid_needs_a_single_key(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(issuing.jwks(EC_KEY))
    assert Authenticator(settings(path))(bearing(signed(EC_KEY, {"kid": None})))
    assert isinstance(EC_KEY, ec.EllipticCurvePrivateKey)
