"""Croupier for programs: what a bot, the command line or anybody's own client needs.

Only the public gRPC API is used. `House` says where it is and who one is; `TableClient`,
`WalletClient` and `AuditClient` speak to it; every refusal is a `RefusedError` with its reason.
"""

from clients.api.audit import AuditClient
from clients.api.connection import Connection
from clients.api.errors import RefusedError, UnansweredError
from clients.api.house import House, Identity
from clients.api.seat import Seat
from clients.api.table import TableClient
from clients.api.wallet import WalletClient

__all__ = [
    "AuditClient",
    "Connection",
    "House",
    "Identity",
    "RefusedError",
    "Seat",
    "TableClient",
    "UnansweredError",
    "WalletClient",
]
