"""Schemas: defaults, errors for values that do not match, and registries that ask for a user. Needs avro."""

import base64
import datetime
import http.server
import io
import json
import pathlib
import sys
import threading
import unittest
import urllib.request
import uuid

import avro.io
import avro.schema

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/main/python"))

import records
import shardtide.log.reports as reports_module
import shardtide.log.schemas as schemas_module

try:
    import numpy as np
except ModuleNotFoundError:
    np = None

PATIENCE = 60
CONFLUENT = schemas_module._confluent_decoder("http://unused", None) is not None
CHANGE = avro.schema.parse((ROOT / "avro/released/WorkloadChange/3.avsc").read_text(encoding="utf-8"))
# With all that a table can have.
TABLES = avro.schema.parse((ROOT / "avro/released/WorkloadChange/7.avsc").read_text(encoding="utf-8"))
COSTS = (ROOT / "avro/released/MeasuredCosts/2.avsc").read_text(encoding="utf-8")


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
        }
        self.assertEqual(complete["changes"], [{"cluster": {**cluster, **defaults}}])

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
        value = schemas_module.with_defaults(TABLES, change(changes=changes, **more))
        avro.io.DatumWriter(TABLES).write(value, avro.io.BinaryEncoder(io.BytesIO()))
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
                schemas_module.with_defaults(TABLES, whole)
        with self.assertRaisesRegex(ValueError, "changes must be a list, got dict {}"):
            schemas_module.with_defaults(TABLES, {**change(), "changes": {}})


class MeasuredCosts(unittest.TestCase):
    """A report of costs, encoded and decoded."""

    def report(self, *arguments):
        sent = []

        class Log:
            def sender(self, _):
                return self

            def send(self, topic, key, value, cancelled):
                sent.append((topic, value))
                return True

        with reports_module.TrainerReports(Log(), "w", "test", run="r") as reports:
            reports.measured("p", 9, 3, *arguments)
            self.assertTrue(reports.flush(PATIENCE))
        schemas = schemas_module.Schemas("http://unused", urllib.request.build_opener())
        schemas._latest["measured-costs"] = (7, avro.schema.parse(COSTS))
        schemas._readers["measured-costs", 7] = avro.io.DatumReader(*[schemas._latest["measured-costs"][1]] * 2)
        return schemas.decode("measured-costs", schemas.encode(*sent[0]))

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


NOTE = '{"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"}]}'
HI = {"text": "hi"}


class Decode(unittest.TestCase):
    def test_bytes_that_are_not_framed_are_refused(self):
        schemas = schemas_module.Schemas("http://nowhere")
        for payload, problem in (
            (b"", "0 bytes that begin with nothing"),
            (b"\0\0\0\0", "4 bytes that begin with 00000000"),
            (b"\1\0\0\0\1x", "6 bytes that begin with 0100000001"),
            (b"\0\x80\0\0\0x", "Schema id 2147483648"),
        ):
            with self.assertRaisesRegex(schemas_module.UndecodableRecord, problem):
                schemas.decode("topic", payload)


ANSWERS = {
    f"/subjects/{topic}-value/versions/latest": answer
    for topic, answer in (("list", []), ("empty", {}), ("odd", {"id": 7, "schema": '"odd"'}))
}


class Guarded(http.server.BaseHTTPRequestHandler):
    """A registry that asks for a user, and has one topic."""

    def do_GET(self):
        known = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"me:p@ss").decode()
        if not known:
            self.answer(401, {"error_code": 401})
        elif self.path in ("/schemas/ids/7", "/subjects/t%2Fx-value/versions/latest"):
            self.answer(200, {"id": 7, "schema": NOTE})
        elif self.path in ANSWERS:
            self.answer(200, ANSWERS[self.path])
        elif self.path.startswith("/subjects/proxied"):
            self.answer(404, {"error_code": 404})
        else:
            self.answer(404, {"error_code": 40403})

    def answer(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


class Registry(unittest.TestCase):
    """With our own decoder, which an opener needs."""

    def connect(self, user):
        return schemas_module.Schemas(f"http://{user}{self.address}", urllib.request.build_opener())

    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f"127.0.0.1:{server.server_port}"
        self.schemas = self.connect("me:p%40ss@")

    def test_a_user_is_sent(self):
        self.assertEqual(self.schemas.decode("t/x", b"\0\0\0\0\7\4hi"), HI)
        with self.assertRaisesRegex(PermissionError, f"registry at http://{self.address} refuses this user: .*401"):
            self.connect("").decode("t/x", b"\0\0\0\0\7\4hi")

    def test_a_schema_that_does_not_exist(self):
        with self.assertRaisesRegex(schemas_module.UndecodableRecord, "no schema 8"):
            self.schemas.decode("t/x", b"\0\0\0\0\x08\4hi")
        with self.assertRaisesRegex(LookupError, "no /subjects/other-value/versions/latest.*Check the prefix"):
            self.schemas.encode("other", HI)

    def test_bytes_that_are_no_value(self):
        for body in (b"", b"\4h", b"\1"):
            with self.assertRaisesRegex(schemas_module.UndecodableRecord, "Not a value of t/x in schema 7"):
                self.schemas.decode("t/x", b"\0\0\0\0\7" + body)

    def test_a_proxy_that_does_not_know_the_registry(self):
        with self.assertRaisesRegex(ConnectionError, "does not answer: HTTP Error 404"):
            self.schemas.encode("proxied", HI)

    def test_an_answer_that_is_no_schema(self):
        for topic, problem in (
            ("list", r"does not answer: ValueError: /subjects/list-value/versions/latest must be answered with an object,"
             r" got list \[\]"),
            ("empty", "must answer empty-value with an id and a schema: KeyError: 'id'"),
            ("odd", "must answer odd-value with an id and a schema: SchemaParseException"),
        ):
            with self.assertRaisesRegex(ConnectionError, f"registry at http://{self.address} {problem}"):
                self.schemas.encode(topic, HI)

    def test_a_registry_that_is_away(self):
        self.doCleanups()
        with self.assertRaisesRegex(ConnectionError, f"registry at http://{self.address} does not answer"):
            self.schemas.encode("t/x", HI)


@unittest.skipUnless(CONFLUENT, "confluent-kafka[avro] is not installed")
class RegistryByConfluent(Registry):
    """The same with Confluent's deserializer."""

    def connect(self, user):
        schemas = schemas_module.Schemas(f"http://{user}{self.address}")
        self.assertIsNotNone(schemas._confluent)
        return schemas


@unittest.skipUnless(CONFLUENT, "confluent-kafka[avro] is not installed")
class BothDecoders(unittest.TestCase):
    def test_they_agree_on_every_topic(self):
        for folder in sorted((ROOT / "avro/released").iterdir()):
            newest = max(folder.glob("*.avsc"), key=lambda path: int(path.stem)).read_text(encoding="utf-8")
            with self.subTest(folder.name):

                class OneSchema(Guarded):
                    def do_GET(self, schema=newest):
                        self.answer(200, {"id": 7, "schema": schema})

                server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneSchema)
                threading.Thread(target=server.serve_forever, daemon=True).start()
                url = f"http://127.0.0.1:{server.server_port}"
                ours = schemas_module.Schemas(url, urllib.request.build_opener())
                payload = ours.encode("t", records.example(avro.schema.parse(newest)))
                theirs = schemas_module.Schemas(url).decode("t", payload)
                self.assertEqual(ours.decode("t", payload), theirs)
                server.shutdown()
                server.server_close()


if __name__ == "__main__":
    unittest.main()
