"""Runs one service in this process: `python -m deploy.serve table`."""

from __future__ import annotations

import importlib
import os
import sys

# Nothing here forks without exec; gRPC's fork handlers would only write warnings.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from shared.ops import settings
from shared.ops.lifecycle import run
from shared.ops.settings import SERVICES, ServiceSettings

_SETTINGS: dict[str, type[ServiceSettings]] = {
    "shuffle": settings.ShuffleSettings,
    "wallet": settings.WalletSettings,
    "audit": settings.AuditSettings,
    "relay": settings.RelaySettings,
    "table": settings.TableSettings,
}


def serve(service: str) -> int:
    """Runs `service` until it is told to stop; returns the exit status (2: wrong settings)."""
    try:
        configured = settings.read(_SETTINGS[service])
    except settings.WRONG_SETTINGS as error:
        print(error, file=sys.stderr)  # noqa: T201 - there are no logs before there are settings
        return 2
    module = importlib.import_module(f"services.{service}.main")
    return run(configured, module.serve)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SERVICES:
        sys.exit(f"one of {', '.join(SERVICES)}")
    sys.exit(serve(sys.argv[1]))
