"""Runs commands of shardtide-py, for tests of them."""

from __future__ import annotations

import contextlib
import io

from shardtide import command


def run(name: str | None, *arguments: object) -> tuple[str, str]:
    """Runs a command; returns what it printed, and its messages. Ended, with the messages, if its status is not 0."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            command.main([str(argument) for argument in arguments], name)
        except SystemExit as e:
            if e.code:
                raise Ended(e.code, err.getvalue().strip()) from None
    return out.getvalue(), err.getvalue()


class Ended(Exception):
    """A command ended with another status than 0."""

    def __init__(self, status: object, message: str):
        super().__init__(message)
        self.status = status
        self.message = message
