"""Publishes a change of one table and prints the outcome, or the error on standard error with exit status 1.

publish_change.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX SETTINGS_FILE WORKLOAD [--cluster] [--twice]

--cluster also sets a cluster of two devices, --twice publishes the same change a second time.
"""

import datetime
import json
import pathlib
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.log import Log, WorkloadPublisher

bootstrap_servers, registry_url, prefix, settings_file, workload, *options = sys.argv[1:]
settings = json.loads(pathlib.Path(settings_file).read_text(encoding="utf-8"))
changes = [{"table": {"name": "t", "rows": 100_000, "columns": 64, "poolingFactor": 5.0}}]
if "--cluster" in options:
    cluster = {
        "devices": 2,
        "memoryBytesPerDevice": 2**30,
        "batchSize": 65536,
        "devicesPerNode": 8,
        "hardware": "simulated",
    }
    changes.append({"cluster": cluster})
change = {
    "eventId": str(uuid.uuid4()),
    "workloadId": workload,
    "occurredAt": datetime.datetime.now(datetime.timezone.utc),
    "source": "publish_change.py",
    "changes": changes,
}
try:
    publisher = WorkloadPublisher(Log({"bootstrap.servers": bootstrap_servers, **settings}, {"url": registry_url}, prefix))
    for _ in range(2 if "--twice" in options else 1):
        print(publisher.publish_and_wait(change))
except Exception as e:
    sys.exit(f"{type(e).__name__}: {e}")
