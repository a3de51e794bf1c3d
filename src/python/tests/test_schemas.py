"""Schemas: defaults, errors for values that do not match, and registries that ask for a user. Needs avro."""

import base64
import collections
import contextlib
import datetime
import http.server
import io
import json
import pathlib
import random
import shutil
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import uuid

import avro.io
import avro.schema

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/python"))

import records
import shardtide.log.reports as reports_module
import shardtide.log.schemas as schemas_module
from shardtide.errors import ShardtideError
from shardtide.events import table_resized

try:
    import numpy as np
except ModuleNotFoundError:
    np = None

PATIENCE = 60
# For an answer that never ends. A busy machine needs longer than 0.3 for one that does.
HASTY_SECONDS = 1.5
CHANGE = avro.schema.parse((ROOT / "avro/released/0.2.0/WorkloadChange.avsc").read_text(encoding="utf-8"))
NEWEST = avro.schema.parse((ROOT / "avro/next/WorkloadChange.avsc").read_text(encoding="utf-8"))
COSTS = (ROOT / "avro/next/MeasuredCosts.avsc").read_text(encoding="utf-8")
FILLS = (ROOT / "avro/FillReport.avsc").read_text(encoding="utf-8")


NOW = datetime.datetime.now(datetime.timezone.utc)
ID = "b0d474c0-6e18-4085-a811-6bbfd8a11c99"


def change(**more):
    return {"eventId": ID, "workloadId": "w", "occurredAt": NOW, "source": "s", "changes": [], **more}


class Defaults(unittest.TestCase):
    def test_fields_that_are_left_out_have_their_defaults(self):
        table = {"name": "t", "rows": 1, "columns": 4, "poolingFactor": 1.0}
        complete = schemas_module.with_defaults(CHANGE, change(changes=[{"table": table}, {"name": "gone"}]))
        self.assertIsNone(complete["expectedGeneration"])
        defaults = {
            "reuseHistogram": [],
            "bytesPerElement": 4.0,
            "accessCdf": [],
            "optimizerBytesPerElement": 0.0,
            "optimizerBytesPerRow": 0.0,
            "constraints": {
                "kinds": [],
                "leastColumns": 0,
                "sameDevicesAs": None,
                "mayBeCached": True,
                "mayHaveHotRows": True,
            },
            "pooled": True,
        }
        self.assertEqual(complete["changes"], [{"table": {**table, **defaults}}, {"name": "gone"}])

    def test_a_cluster_has_no_reserve_and_sends_single_precision(self):
        cluster = {"devices": 2, "memoryBytesPerDevice": 9, "batchSize": 4, "devicesPerNode": 2, "hardware": "h"}
        complete = schemas_module.with_defaults(CHANGE, change(changes=[{"cluster": cluster}]))
        defaults = {
            "hostMemoryBytesPerDevice": 0,
            "reservedMemoryBytesPerDevice": 0,
            "countsStepMemory": False,
            "forwardBytesPerElement": 4.0,
            "backwardBytesPerElement": 4.0,
            "replicaGroups": [1],
            "synchronizationSteps": 1,
        }
        self.assertEqual(complete["changes"], [{"cluster": {**cluster, **defaults}}])

    def test_hash_tables_and_resizes_have_defaults(self):
        table = {"name": "t", "rows": 1, "columns": 4, "poolingFactor": 1.0, "storage": {"ids": 3}}
        changes = [{"table": table}, {"tableName": "u", "rows": 9}, table_resized("v", 7, "full"), {"name": "gone"}]
        complete = schemas_module.with_defaults(NEWEST, change(changes=changes))
        out = io.BytesIO()
        avro.io.DatumWriter(NEWEST).write(complete, avro.io.BinaryEncoder(out))
        read = avro.io.DatumReader(NEWEST).read(avro.io.BinaryDecoder(io.BytesIO(out.getvalue())))["changes"]
        self.assertEqual(
            read[0]["table"]["storage"],
            {
                "ids": 3,
                "idsPerDay": 0.0,
                "slotBytes": 16.0,
                "eviction": "none",
                "hitShares": [],
                "resizeReason": None,
            },
        )
        self.assertEqual(
            read[1:],
            [
                {"tableName": "u", "rows": 9, "resizeReason": ""},
                {"tableName": "v", "rows": 7, "resizeReason": "full"},
                {"name": "gone"},
            ],
        )

    def test_a_change_is_never_taken_for_another_kind_of_change(self):
        """Some libraries write the first kind that has some of the fields: a resize with a float would drop its table."""
        for resize, told in (
            ({"tableName": "ads", "rows": 1000.0}, r"changes\[0\].rows must be an integer of 64 bits, got float 1000.0"),
            ({"name": "ads", "rows": 1000}, r"expected those of one of .*TableResized \(tableName, rows, resizeReason\)"),
            ({"tableName": "ads"}, "expected those of one of "),
        ):
            with self.assertRaisesRegex(ValueError, told):
                schemas_module.with_defaults(NEWEST, change(changes=[resize]))

    def test_a_field_that_is_given_is_kept(self):
        self.assertEqual(schemas_module.with_defaults(CHANGE, change(expectedGeneration=7))["expectedGeneration"], 7)

    def test_a_field_that_is_missing_is_named_with_its_meaning(self):
        with self.assertRaisesRegex(ValueError, "WorkloadChange needs source: Name of the publisher"):
            value = change()
            del value["source"]
            schemas_module.with_defaults(CHANGE, value)

    def test_an_unknown_field_is_named_with_those_that_are_expected(self):
        with self.assertRaisesRegex(ValueError, "WorkloadChange has no field generation; expected eventId, workloadId"):
            schemas_module.with_defaults(CHANGE, change(generation=7))

    def test_a_record_that_is_none_of_a_union_is_named(self):
        with self.assertRaisesRegex(
            ValueError, r"fields tabel; expected those of one of TableUpserted \(table\), Table"
        ):
            schemas_module.with_defaults(CHANGE, change(changes=[{"tabel": {}}]))


class Values(unittest.TestCase):
    """What callers pass, as it is meant; for all else an error that names the field, its type and what is expected."""

    TABLE = {"name": "t", "rows": 1, "columns": 4, "poolingFactor": 1.0}
    CLUSTER = {"devices": 2, "memoryBytesPerDevice": 9, "batchSize": 4, "devicesPerNode": 2, "hardware": "h"}

    def given(self, table=None, cluster=None, **more):
        changes = [{"table": {**self.TABLE, **(table or {})}}, {"cluster": {**self.CLUSTER, **(cluster or {})}}]
        value = schemas_module.with_defaults(NEWEST, change(changes=changes, **more))
        avro.io.DatumWriter(NEWEST).write(value, avro.io.BinaryEncoder(io.BytesIO()))
        return value

    def test_a_uuid_is_an_id_in_any_form(self):
        for given in (uuid.UUID(ID), ID, ID.upper(), uuid.UUID(ID).hex, "urn:uuid:" + ID):
            self.assertEqual(self.given(eventId=given)["eventId"], ID)

    @unittest.skipUnless(np, "numpy is not installed")
    def test_numbers_of_numpy_are_numbers(self):
        shares = np.array([0.25, 0.5, 1.0])
        table = {
            "rows": np.int64(1000),
            "columns": np.int32(64),
            "poolingFactor": np.float32(1.5),
            "bytesPerElement": np.uint8(2),
            "optimizerBytesPerRow": 4,
            "pooled": np.bool_(False),
            "accessCdf": shares,
            "reuseHistogram": tuple(shares),
            "name": np.str_("n"),
            "constraints": {"kinds": np.array(["table_wise"])},
        }
        found = self.given(table)["changes"][0]["table"]
        for name, value in {
            "rows": 1000,
            "columns": 64,
            "poolingFactor": 1.5,
            "bytesPerElement": 2.0,
            "optimizerBytesPerRow": 4.0,
            "pooled": False,
            "accessCdf": [0.25, 0.5, 1.0],
            "reuseHistogram": [0.25, 0.5, 1.0],
            "name": "n",
        }.items():
            self.assertEqual(found[name], value)
            self.assertIs(type(found[name]), type(value))
        self.assertEqual(found["constraints"]["kinds"], ["table_wise"])
        self.assertEqual(self.given(expectedGeneration=np.int16(3))["expectedGeneration"], 3)

    def test_everything_else_is_refused_with_its_field_and_type(self):
        rows, columns, cdf = (f"changes[0].table.{field} must be " for field in ("rows", "columns", "accessCdf"))
        naive = datetime.datetime(2026, 1, 1)
        for table, message in (
            ({"rows": True}, rows + "an integer of 64 bits, got bool True"),
            ({"rows": 1e6}, rows + "an integer of 64 bits, got float 1000000.0"),
            ({"rows": "7"}, rows + "an integer of 64 bits, got str '7'"),
            ({"rows": None}, rows + "an integer of 64 bits, got None"),
            ({"rows": 2**63}, rows + "an integer of 64 bits, got int 9223372036854775808"),
            ({"columns": 2**31}, columns + "an integer of 32 bits, got int 2147483648"),
            ({"poolingFactor": True}, "changes[0].table.poolingFactor must be a number, got bool True"),
            ({"poolingFactor": 1j}, "changes[0].table.poolingFactor must be a number, got complex 1j"),
            ({"pooled": 1}, "changes[0].table.pooled must be a bool, got int 1"),
            ({"name": b"t"}, "changes[0].table.name must be a str, got bytes b't'"),
            ({"name": "caf\udce9"}, "changes[0].table.name must be UTF-8, got 'caf\\udce9'"),
            ({"accessCdf": "abc"}, cdf + "a list, got str 'abc'"),
            ({"accessCdf": {0.5, 1.0}}, cdf + "a list, got set {"),
            ({"accessCdf": [0.5, "1"]}, "changes[0].table.accessCdf[1] must be a number, got str '1'"),
            ({"constraints": {"kinds": "table_wise"}}, "changes[0].table.constraints.kinds must be a list, got str"),
            ({"constraints": []}, "changes[0].table.constraints: TableConstraints must be a dict with kinds, "),
            ({"hash_size": 5}, "changes[0].table: TableSpec has no field hash_size; expected name, rows, columns"),
        ):
            with self.assertRaises(ValueError) as raised:
                self.given(table)
            self.assertTrue(str(raised.exception).startswith(message), f"{raised.exception}; expected {message}")
        for fields, message in (
            ({"cluster": {"batchSize": 2.0}}, "changes[1].cluster.batchSize must be an integer of 32 bits, got float"),
            ({"eventId": "7"}, "eventId must be a uuid.UUID or its text, got str '7'"),
            ({"eventId": 7}, "eventId must be a uuid.UUID or its text, got int 7"),
            ({"occurredAt": 0}, "occurredAt must be a datetime with a time zone, got int 0"),
            ({"occurredAt": naive}, "occurredAt must be a datetime with a time zone, got datetime datetime.datetime(20"),
            ({"expectedGeneration": "3"}, "expectedGeneration must be None or an integer of 64 bits, got str '3'"),
            ({"workloadId": 5}, "workloadId must be a str, got int 5"),
        ):
            with self.assertRaises(ValueError) as raised:
                self.given(**fields)
            self.assertTrue(str(raised.exception).startswith(message), f"{raised.exception}; expected {message}")
        for whole in ([], "x", None, 5):
            with self.assertRaisesRegex(ValueError, "WorkloadChange must be a dict with eventId, .*, got "):
                schemas_module.with_defaults(NEWEST, whole)
        with self.assertRaisesRegex(ValueError, "changes must be a list, got dict {}"):
            schemas_module.with_defaults(NEWEST, {**change(), "changes": {}})


def reported(topic, schema, report):
    """Returns what a call of TrainerReports sends to a topic, encoded with a schema and decoded."""
    sent = []

    class Log:
        def sender(self, _):
            return self

        def send(self, topic, key, value, cancelled):
            sent.append((topic, value))
            return True

    with reports_module.TrainerReports(Log(), "w", "test", run="r") as reports:
        report(reports)
        assert reports.flush(PATIENCE)
    schemas = schemas_module.Schemas({"url": "http://unused"})
    schemas._latest[topic] = (7, avro.schema.parse(schema))
    schemas._readers[topic, 7] = avro.io.DatumReader(*[schemas._latest[topic][1]] * 2)
    return schemas.decode(topic, schemas.encode(*sent[0]))


class MeasuredCosts(unittest.TestCase):
    """A report of costs, encoded and decoded."""

    def report(self, *arguments):
        return reported("measured-costs", COSTS, lambda reports: reports.measured("p", 9, 3, *arguments))

    def test_collectives_and_the_forward_computation_are_encoded(self):
        device = {"computeMs": 2.0, "forwardCommMs": 1.5, "backwardCommMs": 0.5, "forwardComputeMs": 0.75}
        collectives = [
            {"collective": "all_to_all", "direction": direction, "scope": "device", "ms": [ms, ms]}
            for direction, ms in (("forward", 1.25), ("backward", 0.5))
        ]
        decoded = self.report([device, device], collectives)
        self.assertEqual((decoded["devices"], decoded["collectives"]), ([device, device], collectives))

    def test_a_report_without_them_is_encoded(self):
        device = {"computeMs": 2.0, "forwardCommMs": 1.5, "backwardCommMs": 0.5}
        decoded = self.report([device])
        self.assertEqual((decoded["devices"], decoded["collectives"]), ([{**device, "forwardComputeMs": None}], []))


class FillReports(unittest.TestCase):
    """A report of fill, encoded and decoded."""

    def test_it_is_encoded_with_defaults(self):
        shards = [
            {"rank": 1, "rowOffset": 4, "slots": 4, "ids": 3, "insertions": 5, "evictions": 2, "collisions": 7},
            {"rank": 0, "slots": 4, "ids": 0},
        ]
        decoded = reported(
            "table-fills", FILLS, lambda reports: reports.fill("p", [{"table": "t", "shards": shards}])
        )
        self.assertLess(abs(decoded.pop("measuredAt") - NOW), datetime.timedelta(hours=1))
        defaults = {"rowOffset": 0, "insertions": 0, "evictions": 0, "collisions": 0}
        self.assertEqual(
            decoded,
            {
                "reportId": "test/r/fill/1",
                "workloadId": "w",
                "planId": "p",
                "run": "r",
                "source": "test",
                "tables": [{"table": "t", "shards": [shards[0], {**shards[1], **defaults}]}],
            },
        )

    def test_a_shard_without_ids_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"tables\[0\].shards\[0\]: ShardFill needs ids"):
            tables = [{"table": "t", "shards": [{"rank": 0, "slots": 4}]}]
            reported("table-fills", FILLS, lambda reports: reports.fill("p", tables))


NOTE = '{"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"}]}'
HI = {"text": "hi"}


class Decode(unittest.TestCase):
    def test_bytes_that_are_not_framed_are_refused(self):
        schemas = schemas_module.Schemas({"url": "http://nowhere"})
        for payload, problem in (
            (b"", "0 bytes that begin with nothing"),
            (b"\0\0\0\0", "4 bytes that begin with 00000000"),
            (b"\1\0\0\0\1x", "6 bytes that begin with 0100000001"),
            (b"\0\x80\0\0\0x", "Schema id 2147483648"),
        ):
            with self.assertRaisesRegex(schemas_module.UndecodableRecord, problem):
                schemas.decode("topic", payload)


class Guarded(http.server.BaseHTTPRequestHandler):
    """A registry that asks for a user, has one topic, and gives odd answers for some ids."""

    # By path: a status and a body, or None for a blank now and then.
    odd = {}
    asked = collections.Counter()

    def do_GET(self):
        self.asked[self.path] += 1
        known = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"me:p@ss").decode()
        if not known:
            self.answer(401, {"error_code": 401, "message": "Unauthorized"})
        elif self.path in self.odd:
            self.answer(*self.odd[self.path])
        elif self.path in ("/schemas/ids/7", "/subjects/t%2Fx-value/versions/latest"):
            self.answer(200, {"id": 7, "schema": NOTE})
        elif self.path.startswith("/subjects/proxied"):
            self.answer(404, {"error_code": 404})
        else:
            self.answer(404, {"error_code": 40403})

    def answer(self, status, body):
        if body is DRIP:
            self.drip(status)
            return
        text = body if isinstance(body, str) else json.dumps(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def drip(self, status):
        """Sends a byte now and then: a header that does not end, or a body."""
        with contextlib.suppress(OSError):
            if status == 200:
                self.send_response(200)
                self.send_header("Content-Length", "100000")
                self.end_headers()
            else:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(200):
                self.wfile.write(b" ")
                time.sleep(0.05)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class RegistryTest(unittest.TestCase):
    """A registry behind an address, and a client of it."""

    def connect(self, user, timeout_seconds=schemas_module.REQUEST_SECONDS):
        return schemas_module.Schemas({"url": f"http://{user}{self.address}"}, timeout_seconds)

    def setUp(self):
        class Handler(Guarded):
            odd = {}
            asked = collections.Counter()

        self.registry = Handler
        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f"127.0.0.1:{server.server_port}"
        patch = unittest.mock.patch.object(schemas_module, "MISSING_SECONDS", 0.02)
        patch.start()
        self.addCleanup(patch.stop)
        self.schemas = self.connect("me:p%40ss@")


class Registry(RegistryTest):
    def test_a_user_is_sent(self):
        self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\7\4hi"), HI)
        with self.assertRaisesRegex(
            PermissionError, f"registry at http://{self.address} refuses this user: 401, Unauthorized; check the user"
        ):
            self.connect("").decode("t/x", b"\0\0\0\0\7\4hi")

    def test_settings_are_those_of_confluents_client(self):
        settings = {"url": f"http://{self.address}/", "basic.auth.user.info": "me:p@ss"}
        self.assertEqual(schemas_module.Schemas(settings).decode("t/x", b"\0\0\0\0\7\4hi"), HI)
        for wrong, told in (
            ({"url": self.address, "user": "me"}, "only url, basic.auth.user.info, .*; got url, user"),
            ({"basic.auth.user.info": "me:p"}, "registry must have url"),
            ({"url": self.address, "ssl.ca.location": "none.pem"}, "ssl.ca.location of registry must be a file, got str"),
            (self.address, "registry must be an object with some of url, "),
        ):
            with self.subTest(told), self.assertRaisesRegex(ValueError, told):
                schemas_module.Schemas(wrong)

    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_a_certificate_of_ones_own_is_trusted_if_it_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = (f"{folder}/{name}.pem" for name in ("certificate", "key"))
            command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext"
            alone = [*command.split(), "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key]
            subprocess.run(alone, check=True, capture_output=True)
            server = Server(("127.0.0.1", 0), self.registry)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            settings = {"url": f"https://me:p%40ss@127.0.0.1:{server.server_port}"}
            with self.assertRaisesRegex(ConnectionError, "certificate verify failed"):
                schemas_module.Schemas(settings).decode("t/x", b"\0\0\0\0\7\4hi")
            trusting = schemas_module.Schemas({**settings, "ssl.ca.location": certificate})
            self.assertEqual(trusting.decode("t/x", b"\0\0\0\0\7\4hi"), HI)

    def test_all_errors_are_shardtides(self):
        for attempt in (
            lambda: self.connect("").encode("t/x", HI),
            lambda: self.schemas.encode("other", HI),
            lambda: self.schemas.encode("proxied", HI),
            lambda: self.schemas.encode("t/x", {"text": 1}),
            lambda: self.schemas.decode("t/x", b"?"),
        ):
            self.assertRaises(ShardtideError, attempt)

    def test_a_schema_that_does_not_exist(self):
        with self.assertRaisesRegex(LookupError, "no /subjects/other-value/versions/latest.*Check the prefix"):
            self.schemas.encode("other", HI)

    def test_bytes_that_are_no_value(self):
        for body in (b"", b"\4h", b"\1"):
            with self.assertRaisesRegex(schemas_module.UndecodableRecord, "Not a value of t/x in schema 7"):
                self.schemas.decode("t/x", b"\0\0\0\0\7" + body)

    def test_bytes_after_a_value_are_ignored(self):
        self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\7\4hi!"), HI)

    def test_a_schema_that_refers_to_another(self):
        self.registry.odd["/schemas/ids/8"] = (
            200,
            {
                "schema": '{"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"},'
                ' {"name": "more", "type": "a.Y"}]}',
                "references": [{"name": "a.Y", "subject": "a/Y", "version": 3}],
            },
        )
        self.registry.odd["/subjects/a%2FY/versions/3"] = (200, {"schema": NOTE.replace("Note", "a.Y")})
        self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\x08\4hi\2!"), HI)

    def test_a_proxy_that_does_not_know_the_registry(self):
        with self.assertRaisesRegex(ConnectionError, "does not answer: 404"):
            self.schemas.encode("proxied", HI)

    def test_a_registry_that_is_away(self):
        self.doCleanups()
        with self.assertRaisesRegex(ConnectionError, f"registry at http://{self.address} does not answer"):
            self.schemas.encode("t/x", HI)

    def test_each_answer_to_a_publisher_is_told_with_the_address_and_what_to_do(self):
        for status, body, error, told in (
            (401, {"error_code": 401, "message": "Unauthorized"}, PermissionError, "401, Unauthorized; check the user"),
            (403, {"error_code": 40301, "message": "Denied"}, PermissionError, r"403 \(40301\), Denied; this user needs"),
            (429, {"error_code": 42901, "message": "Slowly"}, ConnectionError, r"429 \(42901\), Slowly; try again later"),
            (500, "upstream connect error", ConnectionError, "500, upstream connect error; try again later"),
            (502, "<html>Bad Gateway</html>" * 99, ConnectionError, r"502, <html>.*\.\.\.; try again later"),
            (504, "", ConnectionError, "504, nothing; try again later"),
            (200, "<html>Sign in</html>", ConnectionError, "200, <html>Sign in</html>; check that the address"),
            (200, "", ConnectionError, "200, nothing; check that the address"),
            (200, "null", ConnectionError, "200, null; check that the address"),
            (200, [], ConnectionError, r"200, \[\]; check that the address"),
            (200, {"message": "ok"}, ConnectionError, "answers what no registry does: .*; check that the address"),
            (200, {"id": "x", "schema": NOTE}, ConnectionError, "answers what no registry does: .*; check that"),
            (200, {"id": 7, "schema": "{"}, ConnectionError, "answers what no registry does: .*; check that"),
        ):
            with self.subTest(f"{status} {body}"[:60]):
                self.registry.odd["/subjects/odd-value/versions/latest"] = (status, body)
                with self.assertRaisesRegex(error, f"^The schema registry at http://{self.address} .*{told}") as caught:
                    self.schemas.encode("odd", HI)
                self.assertLess(len(str(caught.exception)), 500)

    def test_an_answer_that_takes_long_is_given_up(self):
        hasty = self.connect("me:p%40ss@", HASTY_SECONDS)
        for status in (200, None):
            self.registry.odd["/subjects/slow-value/versions/latest"] = (status, DRIP)
            told = f"no complete answer within {HASTY_SECONDS} s; check that the address"
            with self.assertRaisesRegex(ConnectionError, told):
                hasty.encode("slow", HI)


DRIP = object()
JSON_ERROR = {"message": "as told"}
# What a registry, or a proxy before one, may answer for the schema of one id, for good; and what a reader is told.
# io.shardtide.testing.RegistryAnswer is the same table.
ODD_ANSWERS = (
    (200, {"schemaType": "PROTOBUF", "schema": "message A { string a = 1; }"}, "is of type PROTOBUF"),
    (200, {"schemaType": "JSON", "schema": "{}"}, "is of type JSON"),
    (200, {"schema": '{"type": "record", "name": "E", "namespace": "a.b-c", "fields": []}'}, "Schema 9|not an Avro"),
    (200, {"schema": "{"}, "is not an Avro schema"),
    (200, {"schema": "{}"}, "is not an Avro schema"),
    (200, {"schema": '{"type": "record", "name": "Order", "fields": []}'}, "is Order; expected Note"),
    (
        200,
        {"schema": NOTE, "references": [{"name": "a.Y", "subject": "a.Y", "version": 1}]},
        "/subjects/a.Y/versions/1",
    ),
    (200, {"schema": NOTE, "references": 5}, "answers what no registry does"),
    (200, {"schema": 5}, "answers what no registry does"),
    (200, "null", "200, null"),
    (200, {}, "answers what no registry does"),
    (200, [], r"200, \[\]"),
    (200, "", "200, nothing"),
    (204, "", "204, nothing"),
    (200, "<html>Sign in</html>", "200, <html>Sign in</html>"),
    *((404, {"error_code": code, **JSON_ERROR}, rf"404 \({code}\), as told") for code in (40401, 40402, 40403)),
    (404, {"error_code": 404, **JSON_ERROR}, "404, as told"),
    (404, "<html>Not Found</html>", "404, <html>"),
    *((status, {"error_code": status, **JSON_ERROR}, f"{status}, as told") for status in (400, 401, 403, 422, 429)),
    *((status, {"error_code": status, **JSON_ERROR}, f"{status}, as told") for status in (500, 502, 503)),
    (504, "", "504, nothing"),
    (200, DRIP, f"no complete answer within {HASTY_SECONDS} s"),
)


class OddIds(RegistryTest):
    """Every answer for the id of one record, while the registry gives the schemas of others and while it does not."""

    def setUp(self):
        super().setUp()
        self.schemas = self.connect("me:p%40ss@", HASTY_SECONDS)

    def decided(self, payload):
        """Decodes as readers do: as often as is asked for."""
        while True:
            try:
                return self.schemas.decode("t/x", payload)
            except schemas_module.UndecidedSchema:
                time.sleep(0.005)

    def test_each_answer_makes_the_record_undecodable(self):
        for schema_id, (status, body, told) in enumerate(ODD_ANSWERS, 900):
            with self.subTest(f"{status} {body}"[:60]):
                path = f"/schemas/ids/{schema_id}"
                self.registry.odd[path] = (status, body)
                payload = struct.pack(">bI", 0, schema_id) + b"\2a"
                with self.assertRaisesRegex(schemas_module.UndecodableRecord, told) as first:
                    self.decided(payload)
                asked = self.registry.asked[path]
                with self.assertRaises(schemas_module.UndecodableRecord) as second:
                    self.schemas.decode("t/x", payload)
                if "Schema" not in str(first.exception)[:6]:
                    self.assertEqual(str(first.exception), str(second.exception))
                    self.assertEqual(self.registry.asked[path], asked, "it is remembered")
                self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\7\4hi"), HI)

    def test_the_same_answer_to_all_is_an_outage(self):
        self.schemas.encode("t/x", HI)
        for schema_id, (status, body, _) in enumerate(ODD_ANSWERS, 900):
            if status == 200 and isinstance(body, dict) and body:
                continue
            with self.subTest(f"{status} {body}"[:60]):
                for each in (7, schema_id):
                    self.registry.odd[f"/schemas/ids/{each}"] = (status, body)
                for _ in range(3):
                    for each in (7, schema_id):
                        with self.assertRaises((ConnectionError, PermissionError, LookupError)) as caught:
                            self.schemas.decode("t/x", struct.pack(">bI", 0, each) + b"\4hi")
                        self.assertNotIsInstance(caught.exception, schemas_module.UndecidedSchema)
                    time.sleep(0.1)
        self.registry.odd.clear()
        self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\7\4hi"), HI)

    def test_a_schema_that_comes_late_is_waited_for(self):
        for code in (40403, 404):
            with self.subTest(code), unittest.mock.patch.object(schemas_module, "MISSING_SECONDS", PATIENCE):
                self.schemas = self.connect("me:p%40ss@")
                self.registry.odd["/schemas/ids/8"] = (404, {"error_code": code})
                for _ in range(2):
                    with self.assertRaises(schemas_module.UndecidedSchema):
                        self.schemas.decode("t/x", b"\0\0\0\0\x08\4hi")
                self.registry.odd["/schemas/ids/8"] = (200, {"schema": NOTE})
                self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\x08\4hi"), HI)

    def test_all_odd_ids_together_have_a_limited_time(self):
        with unittest.mock.patch.object(schemas_module, "MISSING_SECONDS", PATIENCE):
            self.schemas = self.connect("me:p%40ss@")
            for schema_id in range(900, 910):
                with self.assertRaises(schemas_module.UndecidedSchema):
                    self.schemas.decode("t/x", struct.pack(">bI", 0, schema_id))
            with self.assertRaises(schemas_module.UndecodableRecord):
                self.decided(struct.pack(">bI", 0, 910))


def released():
    """Returns the name of each record and the texts of its versions, the newest last."""
    releases = sorted((ROOT / "avro/released").iterdir())
    for newest in sorted((ROOT / "avro/next").iterdir()):
        files = [release / newest.name for release in releases] + [newest]
        yield newest.stem, [file.read_text(encoding="utf-8") for file in files if file.exists()]


def parts(schema, seen):
    """Returns a schema and all in it."""
    if schema not in seen:
        seen.append(schema)
        if schema.type == "record":
            inner = [field.type for field in schema.fields]
        elif schema.type == "union":
            inner = schema.schemas
        else:
            inner = [part for part in (getattr(schema, "items", None), getattr(schema, "values", None)) if part]
        for part in inner:
            if isinstance(part, avro.schema.Schema):
                parts(part, seen)
    return seen


def written(schema, value):
    out = io.BytesIO()
    # Without the check of write(), which takes the first record of a union that has the names of a value's fields.
    avro.io.DatumWriter(schema).write_data(schema, value, avro.io.BinaryEncoder(out))
    return out.getvalue()


class Releases(unittest.TestCase):
    """Records of every released version, with short lists, are read in the newest by each library that users have."""

    def assert_same(self, before, read):
        if isinstance(before, dict) and isinstance(read, dict):
            for name in before.keys() & read.keys():
                self.assert_same(before[name], read[name])
        elif isinstance(before, list):
            self.assertEqual(len(before), len(read))
            for one, other in zip(before, read):
                self.assert_same(one, other)
        elif isinstance(before, datetime.datetime):
            self.assertLess(abs(read - before), datetime.timedelta(milliseconds=1))
        else:
            self.assertEqual(before, read)

    def check(self, reader):
        for name, texts in released():
            newest = avro.schema.parse(texts[-1])
            for version, text in enumerate(texts, 1):
                with self.subTest(f"{name} {version}"):
                    writer = avro.schema.parse(text)
                    read = reader(text, writer, newest)
                    for seed in range(10):
                        value = records.drawn(writer, random.Random(seed))
                        self.assert_same(value, read(written(writer, value)))

    def test_avro(self):
        def reader(_, writer, newest):
            return lambda body: avro.io.DatumReader(writer, newest).read(avro.io.BinaryDecoder(io.BytesIO(body)))

        self.check(reader)

    def test_a_record_of_a_union_is_written_as_what_it_is(self):
        for name in ("WorkloadChange", "PlanStatus", "MeasuredCosts", "FillReport"):
            schema = avro.schema.parse(dict(released())[name][-1])
            for union in parts(schema, []):
                for place, branch in enumerate(union.schemas if union.type == "union" else ()):
                    for seed in range(20 if branch.type == "record" else 0):
                        with self.subTest(f"{name}: {branch.name} {seed}"):
                            value = records.drawn(branch, random.Random(seed))
                            complete = schemas_module.with_defaults(union, value)
                            self.assertEqual(complete, value)
                            # The branch's number, which Avro doubles, comes first.
                            self.assertEqual(written(union, complete)[0], 2 * place)


if __name__ == "__main__":
    unittest.main()
