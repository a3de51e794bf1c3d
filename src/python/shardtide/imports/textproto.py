"""Reads protobuf's text format without its schema.

https://protobuf.dev/reference/protobuf/textformat-spec has the format. Without a schema, a field has all its values in
a list, whether it may be repeated or not; numbers, names of enums and booleans remain text.
"""

from __future__ import annotations

import re

# As protobuf's own parsers.
MAX_DEPTH = 100

_TOKEN = re.compile(
    r"""
    (?P<space>[\s]+|\#[^\n]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<word>[-+]?[A-Za-z0-9_.][A-Za-z0-9_.+-]*)
    |(?P<mark>[:{}<>\[\],;/-])
    """,
    re.VERBOSE | re.DOTALL,
)

_ESCAPE = re.compile(r"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_CLOSING = {"{": "}", "<": ">"}


class Message:
    """A message: for each field its values in order, each a Message or a str.

    line: where it begins, from 1
    """

    def __init__(self, line: int = 1):
        self.line = line
        self.fields: dict[str, list[Message | str]] = {}

    def messages(self, name: str) -> list[Message]:
        """Returns the messages of a field; ValueError if one of its values is none."""
        for value in self.fields.get(name, []):
            if not isinstance(value, Message):
                raise ValueError(f"line {self.line}: {name} must be a message {{...}}, got {value!r}")
        return [value for value in self.fields.get(name, []) if isinstance(value, Message)]

    def message(self, name: str) -> Message | None:
        """Returns the last message of a field, None if there is none; ValueError as messages()."""
        return self.messages(name)[-1] if name in self.fields else None

    def texts(self, name: str) -> list[str]:
        """Returns the scalars of a field as text; ValueError if one of its values is a message."""
        for value in self.fields.get(name, []):
            if isinstance(value, Message):
                raise ValueError(f"line {value.line}: {name} must be a scalar, got a message")
        return [value for value in self.fields.get(name, []) if isinstance(value, str)]

    def text(self, name: str) -> str | None:
        """Returns the last scalar of a field, None if there is none; ValueError as texts()."""
        return self.texts(name)[-1] if name in self.fields else None

    def whole_number(self, name: str) -> int | None:
        """Returns a whole number, decimal, octal or hexadecimal; None if there is none.

        ValueError if it is something else, or below 0.
        """
        text = self.text(name)
        if text is None:
            return None
        if re.fullmatch(r"0[0-7]+", text):
            return int(text, 8)
        if re.fullmatch(r"0[xX][0-9a-fA-F]+|0|[1-9][0-9]*", text):
            return int(text, 0)
        raise ValueError(f"line {self.line}: {name} must be a whole number from 0, got {text!r}")


class _Tokens:
    def __init__(self, text: str):
        self.tokens: list[tuple[str, str, int]] = []
        self.next = 0
        at, line = 0, 1
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"line {line}: must be protobuf's text format, got {text[at : at + 20]!r}")
            kind = found.lastgroup or ""
            if kind != "space":
                self.tokens.append((kind, found.group(), line))
            line += found.group().count("\n")
            at = found.end()
        self.tokens.append(("end", "the end of the file", line))

    def peek(self) -> str:
        return self.tokens[self.next][1]

    def kind(self) -> str:
        return self.tokens[self.next][0]

    def line(self) -> int:
        return self.tokens[self.next][2]

    def take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1][1]

    def skip(self, *marks: str) -> bool:
        """Takes the next token if it is one of these marks."""
        if self.kind() == "mark" and self.peek() in marks:
            self.next += 1
            return True
        return False

    def expected(self, what: str) -> ValueError:
        return ValueError(f"line {self.line()}: expected {what}, got {self.peek()!r}")


def parse(text: str) -> Message:
    """Returns the message of a text; ValueError with the line of what is not in protobuf's text format."""
    tokens = _Tokens(text)
    return _message(tokens, "end", 1, 0)


def _message(tokens: _Tokens, closing: str, line: int, depth: int) -> Message:
    if depth > MAX_DEPTH:
        raise ValueError(f"line {line}: messages must be nested at most {MAX_DEPTH} deep")
    message = Message(line)
    while True:
        if closing == "end" and tokens.kind() == "end":
            return message
        if closing != "end" and tokens.skip(closing):
            return message
        name = _name(tokens, closing)
        has_colon = tokens.skip(":")
        values = message.fields.setdefault(name, [])
        if tokens.skip("["):
            while not tokens.skip("]"):
                values.append(_value(tokens, True, depth))
                if not tokens.skip(",") and tokens.peek() != "]":
                    raise tokens.expected("',' or ']'")
        else:
            values.append(_value(tokens, has_colon, depth))
        tokens.skip(",", ";")


def _name(tokens: _Tokens, closing: str) -> str:
    """Takes the name of a field, or of an extension or a type in brackets."""
    if tokens.skip("["):
        parts = []
        while not tokens.skip("]"):
            if tokens.kind() not in ("word", "mark"):
                raise tokens.expected("']'")
            parts.append(tokens.take())
        return "[" + "".join(parts) + "]"
    if tokens.kind() != "word" or not re.fullmatch(r"[A-Za-z_]\w*", tokens.peek()):
        raise tokens.expected("the name of a field" + ("" if closing == "end" else f" or {closing!r}"))
    return tokens.take()


def _value(tokens: _Tokens, has_colon: bool, depth: int) -> Message | str:
    line = tokens.line()
    if tokens.kind() == "mark" and tokens.peek() in _CLOSING:
        return _message(tokens, _CLOSING[tokens.take()], line, depth + 1)
    if not has_colon:
        raise tokens.expected("':' or '{'")
    if tokens.kind() == "text":
        parts = []
        while tokens.kind() == "text":
            parts.append(_unescaped(tokens.take()[1:-1]))
        return "".join(parts)
    if tokens.skip("-"):
        if tokens.kind() != "word":
            raise tokens.expected("a number")
        return "-" + tokens.take()
    if tokens.kind() != "word":
        raise tokens.expected("a value")
    return tokens.take()


def _unescaped(text: str) -> str:
    """Returns a string's characters. Octal and hexadecimal escapes are bytes, which together are UTF-8."""

    def byte(found: re.Match[str]) -> bytes:
        escape = found.group(1)
        if escape[0] in "01234567":
            return bytes([int(escape, 8) & 0xFF])
        if escape[0] in "xX" and len(escape) > 1:
            return bytes([int(escape[1:], 16)])
        if escape[0] in "uU" and len(escape) > 1:
            return chr(int(escape[1:], 16)).encode("utf-8", "replace")
        return bytes([_ESCAPED[escape]]) if escape in _ESCAPED else escape.encode("utf-8")

    parts, at = [], 0
    for found in _ESCAPE.finditer(text):
        parts += [text[at : found.start()].encode("utf-8"), byte(found)]
        at = found.end()
    return b"".join([*parts, text[at:].encode("utf-8")]).decode("utf-8", "replace")
