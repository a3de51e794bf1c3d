"""shardtide_log's own part: defaults, and what is said of values that do not fit. Needs avro and confluent_kafka."""

import pathlib
import sys
import unittest

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


if __name__ == "__main__":
    unittest.main()
