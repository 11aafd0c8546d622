"""Refused calls reach the audit log as counts, whatever their number."""

import pytest

from memlane_core.domain.errors import JournalUnavailable, PermissionDenied, Unauthenticated
from memlane_server.auth.errors import TokenExpired, TokenInvalid
from memlane_server.auth.refusals import MAX_ROWS, OTHERS, Refusals, Refused
from memlane_server.permissions import ScopeMissing
from memlane_server.principal import Principal


class Log:
    def __init__(self) -> None:
        self.rows: list[Refused] = []
        self.down = False

    async def __call__(self, refused: Refused) -> None:
        if self.down:
            raise JournalUnavailable("down")
        self.rows.append(refused)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def refusals(log: Log) -> Refusals:
    return Refusals(log, own_tenant="home", every_seconds=60)


async def test_a_flood_is_a_handful_of_rows(refusals: Refusals, log: Log) -> None:
    for _ in range(50_000):
        refusals.unauthenticated(TokenInvalid("signature", "x"))
        refusals.unauthenticated(TokenExpired())
    await refusals.flush()
    assert sorted(log.rows, key=lambda r: r.reason) == [
        Refused("home", "", "TOKEN_EXPIRED", 50_000),
        Refused("home", "", "TOKEN_INVALID", 50_000),
    ]
    await refusals.flush()
    assert len(log.rows) == 2


async def test_who_was_recognised_is_named_in_the_log_of_their_tenant(refusals: Refusals, log: Log) -> None:
    teller = Principal("bank", "柜员", scopes=frozenset())
    refusals.denied(teller, ScopeMissing("x"))
    refusals.denied(teller, ScopeMissing("y"))
    refusals.denied(teller, PermissionDenied("z"))
    await refusals.flush()
    assert set(log.rows) == {
        Refused("bank", "柜员", "SCOPE_MISSING", 2),
        Refused("bank", "柜员", "PERMISSION_DENIED", 1),
    }


async def test_many_credentials_make_no_more_rows_than_a_round_may_have(refusals: Refusals, log: Log) -> None:
    for n in range(1000):
        refusals.denied(Principal("bank", f"credential-{n}"), ScopeMissing("x"))
    await refusals.flush()
    assert len(log.rows) == MAX_ROWS + 1
    assert sum(row.count for row in log.rows) == 1000
    [others] = [row for row in log.rows if row.reason == OTHERS]
    assert others == Refused("home", "", OTHERS, 1000 - MAX_ROWS)


async def test_nothing_is_lost_while_the_journal_is_down(refusals: Refusals, log: Log) -> None:
    refusals.unauthenticated(Unauthenticated("x"))
    log.down = True
    with pytest.raises(JournalUnavailable):
        await refusals.flush()
    refusals.unauthenticated(Unauthenticated("x"))
    log.down = False
    await refusals.flush()
    assert log.rows == [Refused("home", "", "UNAUTHENTICATED", 2)]
