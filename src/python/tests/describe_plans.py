"""Prints the description of each current plan as JSON, one a line.

describe_plans.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.log import Log
from shardtide.torchrec.descriptions import describe

with Log({"bootstrap.servers": sys.argv[1]}, {"url": sys.argv[2]}, sys.argv[3]).reader("current-plans") as plans:
    for record in plans.all():
        print(json.dumps(describe(record.value)))
