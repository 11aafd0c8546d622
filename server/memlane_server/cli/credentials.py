"""Commands that make credentials to try things out: certs, keys, token.

Cryptography is imported where it is used: every `memlane` command imports this module.
"""

from pathlib import Path
from typing import Annotated

import typer

from memlane_core.domain.errors import MemlaneError

from ..principal import SCOPES, Principal
from .connection import console, fail
from .operate import Config, load_or_fail

Out = Annotated[Path, typer.Option("--out", "-o", help="Directory to write to; nothing in it is replaced")]


def certs(
    out: Out = Path("certs"),
    host: Annotated[list[str], typer.Option(help="Name or address of the server; may be repeated")] = [  # noqa: B006
        "localhost",
        "127.0.0.1",
    ],
    client: Annotated[
        list[str], typer.Option(help="Common name of a client certificate; may be repeated")
    ] = ["client"],  # noqa: B006
    days: Annotated[float, typer.Option(min=0.01, help="How long they are valid")] = 30.0,
) -> None:
    """Make an authority and certificates of a server and its clients, for trying out TLS."""
    from ..auth.example_certificates import write_examples

    try:
        written = write_examples(out, hosts=host, clients=client, days=days)
    except MemlaneError as error:
        fail(error.message)
    for path in written:
        console.print(path, highlight=False)
    console.print(
        "[dim]for trying out: a bank's certificates come from its own authority[/]\n"
        f"memlane serve with MEMLANE_SERVER__TLS_CERTIFICATE={out}/server.pem "
        f"MEMLANE_SERVER__TLS_KEY={out}/server-key.pem",
        highlight=False,
        soft_wrap=True,
    )


def keys(
    out: Out = Path("keys"),
    algorithm: Annotated[str, typer.Option(help="ES256 or RS256")] = "ES256",
) -> None:
    """Make a key pair for tokens: issuer-key.pem signs them, jwks.json lets the server check them."""
    from ..auth import issuing

    if algorithm not in ("ES256", "RS256"):
        fail("--algorithm is ES256 or RS256", 2)
    key = issuing.new_key("ES256" if algorithm == "ES256" else "RS256")
    out.mkdir(parents=True, exist_ok=True)
    try:
        issuing.write_secret(out / "issuer-key.pem", issuing.private_pem(key))
        issuing.write_secret(out / "jwks.json", issuing.jwks(key).encode())
    except MemlaneError as error:
        fail(error.message)
    console.print(f"{out}/issuer-key.pem\n{out}/jwks.json", highlight=False)
    console.print(
        f"memlane serve with MEMLANE_AUTH__JWKS_FILE={out}/jwks.json MEMLANE_AUTH__ISSUER=dev "
        "MEMLANE_AUTH__AUDIENCE=memlane",
        highlight=False,
        soft_wrap=True,
    )


def token(
    tenant: Annotated[str, typer.Option(help="Whose data it opens", show_default=False)],
    scope: Annotated[
        list[str], typer.Option("--scope", "-s", help=f"May be repeated: {', '.join(sorted(SCOPES))}")
    ] = ["memory:read", "memory:write"],  # noqa: B006
    subject: Annotated[str, typer.Option(help="Name in the audit log")] = "developer",
    user: Annotated[str | None, typer.Option(help="The one user whom it may act for")] = None,
    ttl: Annotated[int, typer.Option(min=1, help="Seconds that it is valid")] = 3600,
    key: Annotated[
        Path | None, typer.Option(help="Private key to sign with; otherwise auth.hs256_secret signs")
    ] = None,
    config: Config = None,
) -> None:
    """Make a token that a server with the same settings takes, and print it."""
    from ..auth import issuing
    from ..auth.settings import is_user_id

    unknown = sorted(set(scope) - SCOPES)
    if unknown:
        fail(f"unknown scope {unknown[0]}; there are {', '.join(sorted(SCOPES))}", 2)
    if user is not None and not is_user_id(user):
        fail("--user is not a user id", 2)
    settings = load_or_fail(config).auth
    secret = settings.hs256_secret.get_secret_value()
    if key is None and not secret:
        fail("nothing to sign with: give --key, or set auth.hs256_secret as the server has it", 2)
    claims = issuing.claims_of(Principal(tenant, subject, user, frozenset(scope)), settings, ttl)
    try:
        signed = issuing.sign(claims, secret if key is None else issuing.read_private_key(key))
    except MemlaneError as error:
        fail(error.message)
    print(signed)
