"""The one tree of errors that callers see, each with a reason from `croupier.type.v1.Reason`."""

from __future__ import annotations

from collections.abc import Mapping


class CroupierError(Exception):
    """A refusal with a `reason` (UPPER_SNAKE), words for a person and the offending field, if any.

    `facts` are for programs: the owner and epoch that go with NOT_OWNER, for instance. Nothing has
    changed when one is raised.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        field: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.field = field
        self.facts = dict(facts or {})

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class RuleError(CroupierError):
    """A move that the rules of a game or table do not allow (spec reasons of the hand script)."""


class SettingError(CroupierError):
    """A table setting that is impossible; `field` names it (TAB-11)."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__("BAD_SETTING", message, field)
