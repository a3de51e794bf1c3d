"""What calls that speak to Kafka, the registry or other ranks raise: a ShardtideError, and one of Python's own errors.

Wrong arguments are a ValueError alone.
"""

from __future__ import annotations


class ShardtideError(Exception):
    """Anything that goes wrong outside the calling program: the base of all below."""


class Unreachable(ShardtideError, ConnectionError):
    """Kafka, the schema registry or another rank does not answer."""


class AccessDenied(ShardtideError, PermissionError):
    """The user lacks a right, which the message names."""


class NotFound(ShardtideError, LookupError):
    """There is no such topic, schema or plan."""


class TimedOut(ShardtideError, TimeoutError):
    """What was waited for did not come in time."""


class InvalidRecord(ShardtideError, ValueError):
    """A value does not match its schema, or bytes are not a value of it."""
