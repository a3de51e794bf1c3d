"""Prints the description of each current plan as JSON, one a line.

describe_plans.py BOOTSTRAP_SERVERS REGISTRY_URL PREFIX
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.log import Log
from shardtide.torchrec import describe

with Log(*sys.argv[1:4]).reader("current-plans") as plans:
    for record in plans.all():
        print(json.dumps(describe(record.value)))
