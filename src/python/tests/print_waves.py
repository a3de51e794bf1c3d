"""Prints the waves of each line of standard input as JSON, one a line.

A line has a plan and the settings: linkShare, usableBytesPerDevice (one number, one for each rank, or null), longestMs
or null.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "src/python"))

from shardtide.waves import move_waves

for line in sys.stdin:
    case = json.loads(line)
    longest = {} if case["longestMs"] is None else {"longest_ms": case["longestMs"]}
    found = move_waves(case["plan"], case["linkShare"], case["usableBytesPerDevice"], **longest)
    waves = [
        {
            "tables": wave.tables,
            "steps": wave.steps,
            "bytes": wave.total_bytes,
            "stopsTraining": wave.stops_training,
            "durationMs": wave.duration_ms,
            "lostMs": wave.lost_ms,
        }
        for wave in found.waves
    ]
    print(json.dumps({"waves": waves, "stepMs": found.step_ms, "slowedStepMs": found.slowed_step_ms}))
