"""What can be wrong with a house, told in words and without a traceback."""

from __future__ import annotations


class HouseError(Exception):
    """The words are for whoever gave the command; its exit status is 1."""


class HouseIsRunningError(HouseError):
    """Another supervisor has the folder."""


class HouseOpensError(HouseError):
    """A supervisor has the folder, and has not told yet where the house is."""


class OtherFormatError(HouseError):
    """The folder was written by another version of this software, or half."""


class StartFailedError(HouseError):
    """A process did not come up; the words say why, or hold the end of its log."""


class NoDatabaseError(HouseError):
    """No database was named, and no house is open here."""


class CannotJoinError(HouseError):
    """A table node cannot be added to this house."""
