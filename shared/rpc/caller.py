"""Who is calling, and on behalf of which request: bound to the running call."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID, uuid4

from shared.rpc.access import Role


@dataclass(frozen=True, slots=True)
class Caller:
    """Who the token says is calling. `token` is what to pass on when a call is forwarded."""

    id: str
    role: Role
    token: str


_caller: ContextVar[Caller] = ContextVar("caller")
_correlation: ContextVar[UUID] = ContextVar("correlation")


def caller() -> Caller:
    """The caller of the running call. `LookupError` outside one: there is no default caller."""
    return _caller.get()


def correlation_id() -> UUID:
    """The correlation id of the running call; outside one, a new one that stays for the task."""
    try:
        return _correlation.get()
    except LookupError:
        fresh = uuid4()
        _correlation.set(fresh)
        return fresh


def bind(who: Caller | None, correlation: UUID) -> None:
    """Binds both to the current task, which gRPC makes anew for each call."""
    if who is not None:
        _caller.set(who)
    _correlation.set(correlation)
