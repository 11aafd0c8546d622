"""How many memories a user and a tenant have, and whether one more would be too many."""

import threading
import time

from sqlalchemy import Connection, bindparam, func, or_, select

from ...domain.errors import QuotaReached
from ...domain.limits import GLOBAL_USER_ID
from ...domain.memory import Action
from ...ports.journal import Commit, Quota, Room
from .base import SqlBase
from .schema import revisions

_RECOUNT_SECONDS = 60.0
"""Other processes, the sweeper and erasures change a tenant's number without telling; this long a count is believed."""
_RECOUNT_FULL_SECONDS = 5.0
"""The same for a tenant that stands at its quota: what was erased meanwhile has to be of use soon."""

_LIVE = select(func.count()).select_from(revisions).where(revisions.c.live.is_not(None))
_OF_USER = _LIVE.where(revisions.c.tenant == bindparam("tenant"), revisions.c.user_id == bindparam("user_id"))
_VISIBLE_OF_USER = _OF_USER.where(
    or_(revisions.c.expires_at.is_(None), revisions.c.expires_at > bindparam("now"))
)
_OF_TENANT = _LIVE.where(revisions.c.tenant == bindparam("tenant"), revisions.c.user_id != GLOBAL_USER_ID)


class TenantCounts:
    """Memories of whole tenants, counted once and then carried along: counting millions takes a second or more."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def get(self, connection: Connection, tenant: str, limit: int) -> int:
        with self._lock:
            known = self._counts.get(tenant)
        if known is not None:
            count, counted_at = known
            believed_seconds = _RECOUNT_SECONDS if count < limit else _RECOUNT_FULL_SECONDS
            if time.monotonic() - counted_at < believed_seconds:
                return count
        count = connection.execute(_OF_TENANT, {"tenant": tenant}).scalar_one()
        with self._lock:
            self._counts[tenant] = (count, time.monotonic())
        return count

    def add(self, tenant: str, change: int) -> None:
        """To be called inside the transaction of the change: should it fail, too many are counted for a minute."""
        with self._lock:
            if tenant in self._counts:
                count, counted_at = self._counts[tenant]
                self._counts[tenant] = (count + change, counted_at)


class QuotasMixin(SqlBase):
    """See ports/journal.py for the contract of `room`."""

    _tenant_counts: TenantCounts

    def room(self, tenant: str, user_id: str, quota: Quota, *, now_seconds: int) -> Room:
        with self._db.read() as connection:
            return self._room(connection, tenant, user_id, quota, now_seconds)

    def _room(
        self, connection: Connection, tenant: str, user_id: str, quota: Quota, now_seconds: int
    ) -> Room:
        rooms: list[Room] = []
        if quota.per_user is not None:
            scope = {"tenant": tenant, "user_id": user_id}
            held = connection.execute(_OF_USER, scope).scalar_one()
            if held >= quota.per_user:
                # Not by the index alone, so only where it matters: what has expired takes no place.
                held = connection.execute(_VISIBLE_OF_USER, scope | {"now": now_seconds}).scalar_one()
            rooms.append(Room(max(quota.per_user - held, 0), "memories per user", quota.per_user))
        if quota.per_tenant is not None:
            held = self._tenant_counts.get(connection, tenant, quota.per_tenant)
            rooms.append(Room(max(quota.per_tenant - held, 0), "memories per tenant", quota.per_tenant))
        return min(rooms, key=lambda room: room.left)

    def _check_quota(self, connection: Connection, commit: Commit) -> None:
        """Inside the transaction, before its changes are written. Raises QuotaReached."""
        added = net_added(commit)
        if commit.quota is None or not commit.quota.bounds or added <= 0:
            return
        room = self._room(
            connection, commit.tenant, commit.user_id, commit.quota, commit.time_us // 1_000_000
        )
        if added > room.left:
            raise QuotaReached(room.name, room.limit)

    def _count(self, commit: Commit) -> None:
        if not commit.knowledge:
            self._tenant_counts.add(commit.tenant, net_added(commit))


def net_added(commit: Commit) -> int:
    """Memories more (or fewer) after a commit. A memory deleted and added anew in one counts as it ends."""
    return sum(
        1 if change.action is Action.ADD else -1 if change.is_deleted else 0 for change in commit.changes
    )
