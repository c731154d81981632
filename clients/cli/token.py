"""`croupier token`: a token from the local development key."""

from __future__ import annotations

from typing import Annotated

import typer

from clients.api.house import TOKEN_TTL_S, Identity
from clients.cli.shell import shell_of

ROLES = ("player", "dealer", "pit", "auditor", "operator")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("token")(make_token)


def make_token(
    context: typer.Context,
    role: Annotated[str, typer.Option(help=f"One of {', '.join(ROLES)}.")] = "player",
    subject: Annotated[
        str, typer.Option(help="Whose; else yours (players), else local-ROLE.")
    ] = "",
    ttl_s: Annotated[int, typer.Option(min=1, help="Seconds it is good for.")] = TOKEN_TTL_S,
) -> None:
    """Make a token with the local development key, for grpcurl and the like."""
    if role not in ROLES:
        raise typer.BadParameter(f"a role is one of {', '.join(ROLES)}")
    shell = shell_of(context)
    who = shell.player() if role == "player" else shell.staff(role)
    identity = Identity(subject or who.subject, role)
    shell.out.file.write(shell.house.make_token(identity, ttl_s) + "\n")
