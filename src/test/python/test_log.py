"""shardtide_log's own part: defaults, and what is said of values that do not fit. Needs avro and confluent_kafka."""

import base64
import http.server
import json
import pathlib
import sys
import threading
import unittest
import urllib.error

import avro.schema

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "src/main/python"))

import shardtide_log

CHANGE = avro.schema.parse((ROOT / "avro/released/WorkloadChange/1.avsc").read_text(encoding="utf-8"))


def change(**more):
    return {"eventId": "e", "workloadId": "w", "occurredAt": 0, "source": "s", "changes": [], **more}


class Complete(unittest.TestCase):
    def test_fields_that_are_left_out_take_their_defaults(self):
        table = {"name": "t", "rows": 1, "columns": 4, "poolingFactor": 1.0}
        complete = shardtide_log._complete(CHANGE, change(changes=[{"table": table}, {"name": "gone"}]))
        self.assertIsNone(complete["expectedGeneration"])
        self.assertEqual(
            complete["changes"], [{"table": {**table, "reuseHistogram": [], "bytesPerElement": 4.0}}, {"name": "gone"}]
        )

    def test_what_is_given_stays(self):
        self.assertEqual(shardtide_log._complete(CHANGE, change(expectedGeneration=7))["expectedGeneration"], 7)

    def test_a_field_that_is_missing_is_named_with_its_meaning(self):
        with self.assertRaisesRegex(ValueError, "WorkloadChange lacks source: Who publishes"):
            value = change()
            del value["source"]
            shardtide_log._complete(CHANGE, value)

    def test_a_field_that_is_unknown_is_named_with_those_that_are_legal(self):
        with self.assertRaisesRegex(ValueError, r"no field \['generation'\]; legal are \['eventId', 'workloadId'"):
            shardtide_log._complete(CHANGE, change(generation=7))


class Decode(unittest.TestCase):
    def test_what_is_not_framed_is_refused(self):
        log = shardtide_log.Log("nowhere:1", "http://nowhere")
        for payload in (b"", b"\0\0\0\0", b"\1\0\0\0\1x"):
            with self.assertRaisesRegex(ValueError, "framing"):
                log.decode(payload)


class Guarded(http.server.BaseHTTPRequestHandler):
    """A registry that asks who calls."""

    def do_GET(self):
        known = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"me:p@ss").decode()
        self.send_response(200 if known and self.path == "/schemas/ids/7" else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"schema": '"string"'}).encode())

    def log_message(self, *_):
        pass


class Registry(unittest.TestCase):
    def test_a_registry_that_asks_who_calls(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"127.0.0.1:{server.server_port}"
            payload = b"\0\0\0\0\7\4hi"
            self.assertEqual(shardtide_log.Log("nowhere:1", f"http://me:p%40ss@{address}").decode(payload), "hi")
            with self.assertRaisesRegex(urllib.error.HTTPError, "401"):
                shardtide_log.Log("nowhere:1", f"http://{address}").decode(payload)
            server.shutdown()


if __name__ == "__main__":
    unittest.main()
