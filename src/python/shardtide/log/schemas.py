"""Encodes and decodes records with the Avro schemas of a schema registry that speaks Confluent's protocol.

A record is a zero byte, four bytes of schema id (big-endian), and Avro binary. Bytes after the value are ignored, as
the planner does. Needs the package avro, which decodes a plan of 60 shards in 0.9 ms.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import pathlib
import queue
import ssl
import struct
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

import avro.errors
import avro.io
import avro.name
import avro.schema

from shardtide.arguments import mapping, shown
from shardtide.errors import AccessDenied, InvalidRecord, NotFound, Unreachable
from shardtide.log.values import with_defaults

HEADER_BYTES = 5
LARGEST_ID = 2**31 - 1

# The registry's own codes of an unknown subject, version and schema. A proxy in front of it may return HTTP 404 for
# reasons of its own.
NOT_FOUND_CODES = (40401, 40402, 40403)

# The longest time from a request to the end of its answer.
REQUEST_SECONDS = 5.0

# How an id without a schema is treated while the registry gives others: as all readers do. The reasons and the table are
# in src/wire/src/main/java/io/shardtide/wire/RATIONALE.md. It is asked for again for MISSING_SECONDS if the registry says that it
# lacks it, UNCLEAR_FACTOR times as long otherwise; all such ids together for one part in SHARE_OF_TIME of the time.
MISSING_SECONDS = 0.5
UNCLEAR_FACTOR = 10
SHARE_OF_TIME = 10
REMEMBERED_SECONDS = 600.0
REMEMBERED_IDS = 1000

QUOTED_CHARACTERS = 160

_CHECK_ADDRESS = "check that the address is a schema registry's"

SETTINGS = (
    "url",
    "basic.auth.user.info",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
)


class UndecodableRecord(InvalidRecord):
    """A record is not in the registry's framing, its schema cannot be had, or its bytes are not a value of the topic."""


class UndecidedSchema(Unreachable):
    """The registry gives other schemas than that of a record, and may still give this one; ask again soon."""


class _OddId(NamedTuple):
    """An id without a schema: since when, for how many seconds it is asked for, and what is wrong once that is over."""

    since: float
    wait: float
    problem: str | None = None


class Schemas:
    """A client of a schema registry. It only reads: the planner registers schemas.

    registry: url, address of the registry, as https://user:password@host for basic authentication, or with
        basic.auth.user.info, user:password; the others of SETTINGS are PEM files, for TLS with your own certificates
    timeout_seconds: the longest time from a request to the end of its answer
    """

    def __init__(self, registry: Mapping[str, Any], timeout_seconds: float = REQUEST_SECONDS):
        settings = mapping(registry, "registry", f"some of {', '.join(SETTINGS)}")
        unknown = sorted(set(settings).difference(SETTINGS))
        if unknown or not isinstance(settings.get("url"), str):
            raise ValueError(f"registry must have url, and only {', '.join(SETTINGS)}; got {', '.join(settings)}")
        address = urllib.parse.urlsplit(settings["url"].rstrip("/"))
        self._url = address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
        self._opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=_tls(settings)))
        self._timeout_seconds = timeout_seconds
        user = settings.get("basic.auth.user.info")
        if user is None and address.username:
            user = f"{urllib.parse.unquote(address.username)}:{urllib.parse.unquote(address.password or '')}"
        if user is not None:
            self._opener.addheaders.append(("Authorization", "Basic " + base64.b64encode(user.encode()).decode()))
        self._latest: dict[str, tuple[int, avro.schema.Schema]] = {}
        self._readers: dict[tuple[str, int], avro.io.DatumReader] = {}
        self._odd: dict[int, _OddId] = {}
        self._budget = MISSING_SECONDS * UNCLEAR_FACTOR
        self._budget_at = time.monotonic()

    def encode(self, topic: str, value: dict[str, Any]) -> bytes:
        """Returns a value as a record of a topic, written with the newest registered schema; see with_defaults.

        ValueError if the value does not match the schema; LookupError if the registry has none of the topic;
        ConnectionError if it cannot be reached; PermissionError if it refuses.
        """
        schema_id, schema = self._latest_of(topic)
        out = io.BytesIO()
        out.write(struct.pack(">bI", 0, schema_id))
        try:
            avro.io.DatumWriter(schema).write(with_defaults(schema, value), avro.io.BinaryEncoder(out))
        except (avro.errors.AvroException, AttributeError, TypeError) as e:
            raise ValueError(f"Not a value of {topic}: {e}") from e
        return out.getvalue()

    def decode(self, topic: str, payload: bytes) -> dict[str, Any]:
        """Returns the value of a topic's record, in the form of the newest registered schema.

        UndecodableRecord if the bytes are not a value of the topic, or the registry gives no schema to read them with.
        Errors as encode, and UndecidedSchema: the record itself may be good, so try again.
        """
        if len(payload) < HEADER_BYTES or payload[0] != 0:
            raise UndecodableRecord(
                f"{len(payload)} bytes that begin with {payload[:HEADER_BYTES].hex() or 'nothing'}; expected a zero"
                " byte, four bytes of schema id, Avro"
            )
        (schema_id,) = struct.unpack(">I", payload[1:HEADER_BYTES])
        if schema_id > LARGEST_ID:
            raise UndecodableRecord(f"Schema id {schema_id}; expected 0 to {LARGEST_ID}")
        reader = self._reader(topic, schema_id)
        try:
            return reader.read(avro.io.BinaryDecoder(io.BytesIO(payload[HEADER_BYTES:])))
        except Exception as e:
            # Avro's decoder checks little: foreign bytes end in exceptions of many types.
            raise UndecodableRecord(f"Not a value of {topic} in schema {schema_id}: {_short(e)}") from e

    def _reader(self, topic: str, schema_id: int) -> avro.io.DatumReader:
        key = (topic, schema_id)
        if key not in self._readers:
            latest_id, latest = self._latest_of(topic)
            texts = self._writer(schema_id, latest_id)
            try:
                writer = _parse(texts)
                if _name(writer) != _name(latest):
                    raise UndecodableRecord(f"Schema {schema_id} is {_name(writer)}; expected {_name(latest)}")
                self._readers[key] = avro.io.DatumReader(writer, latest)
            except UndecodableRecord:
                raise
            except Exception as e:
                # The packages that parse schemas raise exceptions of many types.
                raise UndecodableRecord(f"Schema {schema_id} is not an Avro schema: {_short(e)}") from e
        return self._readers[key]

    def _writer(self, schema_id: int, latest_id: int) -> list[str]:
        """Returns the text of a schema after those that it refers to; UndecodableRecord if only others are given."""
        odd = self._odd.get(schema_id)
        if odd is not None and odd.problem is not None and time.monotonic() - odd.since < REMEMBERED_SECONDS:
            raise UndecodableRecord(odd.problem)
        found = self._ask(schema_id)
        if isinstance(found, (OSError, LookupError)):
            if latest_id == schema_id or not isinstance(self._ask(latest_id), list):
                # What was heard of this id during an outage proves nothing.
                if odd is not None and odd.problem is None:
                    self._odd.pop(schema_id, None)
                raise found
            if odd is None:
                odd = self._odd[schema_id] = _OddId(time.monotonic(), self._wait(isinstance(found, LookupError)))
            if odd.problem is None and time.monotonic() - odd.since < odd.wait:
                raise UndecidedSchema(f"Schema {schema_id} is not given yet: {found}") from found
            # It may have come back after the first answer, so that it answered for the other id.
            found = self._ask(schema_id)
        if isinstance(found, list):
            self._odd.pop(schema_id, None)
            return found
        if not isinstance(found, UndecodableRecord):
            found = UndecodableRecord(
                f"The record's schema id must be in the registry, got {schema_id}: {found}. Maybe the record was"
                " written with another registry"
            )
        self._odd.pop(schema_id, None)
        self._odd[schema_id] = _OddId(time.monotonic(), 0, str(found))
        if len(self._odd) > REMEMBERED_IDS:
            del self._odd[next(iter(self._odd))]
        raise found

    def _wait(self, missing: bool) -> float:
        longest = MISSING_SECONDS * UNCLEAR_FACTOR
        now = time.monotonic()
        self._budget = min(longest, self._budget + (now - self._budget_at) / SHARE_OF_TIME)
        self._budget_at = now
        wait = min(self._budget, MISSING_SECONDS if missing else longest)
        self._budget -= wait
        return wait

    def _ask(self, schema_id: int) -> list[str] | OSError | LookupError | UndecodableRecord:
        """Returns the text of a schema after those that it refers to, or what is wrong."""
        try:
            found = self._get(f"/schemas/ids/{schema_id}")
            kind = found.get("schemaType") or "AVRO"
            if kind != "AVRO":
                return UndecodableRecord(f"Schema {schema_id} is of type {kind}; expected Avro")
            texts: dict[str, str] = {}
            self._resolve(found, texts)
            return [*texts.values(), self._text(found)]
        except (OSError, LookupError) as e:
            return e
        except (AttributeError, TypeError) as e:
            return self._strange(e)

    def _resolve(self, schema: dict[str, Any], texts: dict[str, str]) -> None:
        for reference in schema.get("references") or []:
            name = reference["name"]
            if name not in texts:
                # Before its own references: schemas that refer to each other must not be resolved for ever.
                texts[name] = ""
                subject = urllib.parse.quote(reference["subject"], safe="")
                found = self._get(f"/subjects/{subject}/versions/{reference['version']}")
                self._resolve(found, texts)
                del texts[name]
                texts[name] = self._text(found)

    def _latest_of(self, topic: str) -> tuple[int, avro.schema.Schema]:
        if topic not in self._latest:
            subject = urllib.parse.quote(topic + "-value", safe="")
            found = self._get(f"/subjects/{subject}/versions/latest")
            try:
                latest = (int(found["id"]), avro.schema.parse(self._text(found)))
            except (avro.errors.AvroException, KeyError, TypeError, ValueError) as e:
                raise self._strange(e) from e
            self._latest[topic] = latest
        return self._latest[topic]

    def _text(self, found: dict[str, Any]) -> str:
        if not isinstance(found.get("schema"), str):
            raise self._strange(ValueError(f"no schema in {_quoted(str(found))}"))
        return str(found["schema"])

    def _strange(self, error: Exception) -> Unreachable:
        return Unreachable(
            f"The schema registry at {self._url} answers what no registry does: {_short(error)}; {_CHECK_ADDRESS}"
        )

    def _get(self, path: str) -> dict[str, Any]:
        """Returns the answer to a request; LookupError, ConnectionError and PermissionError as for encode."""
        # urllib's time-out is for the next byte; this is for all of them.
        answers: queue.SimpleQueue[dict[str, Any] | Exception] = queue.SimpleQueue()
        end = time.monotonic() + self._timeout_seconds
        request = threading.Thread(target=lambda: answers.put(self._request(path, end)), name="shardtide-registry")
        request.daemon = True
        request.start()
        try:
            answer = answers.get(timeout=self._timeout_seconds)
        except queue.Empty:
            answer = self._unreachable(self._late())
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _late(self) -> str:
        return f"no complete answer within {self._timeout_seconds} s"

    def _unreachable(self, why: str, advice: str = _CHECK_ADDRESS) -> Unreachable:
        return Unreachable(f"The schema registry at {self._url} does not answer: {why}; {advice}")

    def _request(self, path: str, end: float) -> dict[str, Any] | Exception:
        try:
            try:
                response = self._opener.open(self._url + path, timeout=self._timeout_seconds)
            except urllib.error.HTTPError as e:
                response = e
            with response:
                status, body = response.status, b""
                while chunk := response.read1(65536):
                    if time.monotonic() > end:
                        return self._unreachable(self._late())
                    body += chunk
        except (OSError, http.client.HTTPException, ValueError) as e:
            return self._unreachable(_short(e))
        found = None
        with contextlib.suppress(ValueError):
            found = json.loads(body)
        if status == 200 and isinstance(found, dict):
            return found
        return self._problem(status, path, body, found if isinstance(found, dict) else {})

    def _problem(self, status: int, path: str, body: bytes, found: dict[str, Any]) -> Exception:
        code = found.get("error_code")
        text = _quoted(str(found.get("message") or body.decode(errors="replace")))
        answer = f"{status}{f' ({code})' if code not in (None, status) else ''}, {text or 'nothing'}"
        if status in (401, 403):
            advice = "check the user and the password in its address"
            if status == 403:
                advice = "this user needs the right to read its schemas"
            return AccessDenied(f"The schema registry at {self._url} refuses this user: {answer}; {advice}")
        if status == 404 and code in NOT_FOUND_CODES:
            return NotFound(
                f"The schema registry at {self._url} has no {path} ({answer}); it has the schemas of a planner's topics"
                " once the planner has started. Check the prefix"
            )
        may_pass = status in (408, 429) or status >= 500
        return self._unreachable(answer, "try again later" if may_pass else _CHECK_ADDRESS)


def _tls(settings: Mapping[str, Any]) -> ssl.SSLContext:
    """Returns how to trust the registry, and how to be known to it; ssl.SSLError if a file is not in PEM."""
    authority, certificate, key = (settings.get(f"ssl.{of}.location") for of in ("ca", "certificate", "key"))
    for name, file in (("ca", authority), ("certificate", certificate), ("key", key)):
        if file is not None and not pathlib.Path(file).is_file():
            raise ValueError(f"ssl.{name}.location of registry must be a file, got {shown(file)}")
    context = ssl.create_default_context(cafile=authority)
    if certificate is not None:
        context.load_cert_chain(certificate, key, settings.get("ssl.key.password"))
    return context




def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED_CHARACTERS else line[:QUOTED_CHARACTERS] + "..."


def _parse(texts: list[str]) -> avro.schema.Schema:
    """Returns the last of some schemas, which may refer to those before it."""
    names = avro.name.Names()
    return [avro.schema.make_avsc_object(json.loads(text), names) for text in texts][-1]



def _name(schema: avro.schema.Schema) -> str:
    return getattr(schema, "fullname", schema.type)


def _short(error: Exception) -> str:
    """Returns an error's text without the schema that Avro's errors print."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"
