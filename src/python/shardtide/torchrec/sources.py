"""Where ShardtidePlanner takes plans from: the log, the program `shardtide`, or a file."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shardtide.arguments import json_lines, shown
from shardtide.errors import NotFound, ShardtideError, TimedOut, Unreachable
from shardtide.torchrec.lines import plan_record

if TYPE_CHECKING:
    from shardtide.log import Log, PlanSubscriber, Reader
    from shardtide.records import ShardingPlan

INFEASIBLE = "infeasible-workloads"

POLL_SECONDS = 0.1

# One plan ends before Java's optimising compiler pays: without it, 500 tables on 64 devices take 6.8 s of processor
# time instead of 11.2 s. What the user sets comes later, and wins.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1"

# What a line of a plan says of the cluster that it was made for: memory is that of shards.
_MADE_FOR = ("hardware", "memory_bytes_per_device", "memory_bytes_by_device")


class PlanRefused(ShardtideError, ValueError):
    """The planner has no plan for these tables: it rejected them, or they fit on the cluster in no way."""


class Wanted(NamedTuple):
    """A workload, and the WorkloadChange that sets its cluster and tables; None for a source that does not need it."""

    workload: str
    change: dict[str, Any] | None

    @property
    def tables(self) -> list[dict[str, Any]]:
        return [change["table"] for change in (self.change or {}).get("changes", []) if "table" in change]

    @property
    def cluster(self) -> dict[str, Any]:
        return next(change["cluster"] for change in (self.change or {})["changes"] if "cluster" in change)


class PlanSource(Protocol):
    """Where plans come from; LogSource, ProgramSource, FileSource, or one of your own.

    name: for messages
    needs_tables: whether plan() needs the change
    """

    name: str
    needs_tables: bool

    def plan(self, wanted: Wanted, timeout_seconds: float) -> Mapping[str, Any]:
        """Returns a plan: a ShardingPlan record, or a description, which has "plan"; called on rank 0 only.

        ConnectionError or TimeoutError if there is none for now: what a fallback is for. PlanRefused if there is none
        for these tables. Other errors are wrong settings.
        """


class LogSource:
    """Publishes the model's tables, and waits for the plan of that generation.

    Tables of the workload's latest plan that the model does not have are dropped with the same change. It needs the
    rights of the roles publisher and trainer. With those of viewer too, what does not fit is an error at once, with the
    planner's message, and not one of time.

    log: a shardtide.log.Log; it is used on rank 0 only, and may be None on the others
    publish: False: takes the workload's latest plan, whose tables and cluster somebody else publishes
    """

    name = "log"

    def __init__(self, log: Log | None, publish: bool = True):
        self.needs_tables = publish
        self._log = log

    def plan(self, wanted: Wanted, timeout_seconds: float) -> Mapping[str, Any]:
        if self._log is None:
            raise ValueError("log must be a shardtide.log.Log on rank 0, got None")
        from shardtide.log import PlanSubscriber

        end = time.monotonic() + timeout_seconds
        with PlanSubscriber(self._log, wanted.workload) as plans:
            try:
                latest = _latest(plans, end)
                if self.needs_tables:
                    return self._published(self._log, wanted, latest, plans, end)
            except NotFound as e:
                # No topic or no schema: no planner was ever here.
                raise Unreachable(str(e)) from e
        if latest is None:
            raise TimedOut(f"Workload {wanted.workload} has no plan yet; publish its tables and cluster")
        return latest

    def _published(
        self, log: Log, wanted: Wanted, latest: ShardingPlan | None, plans: PlanSubscriber, end: float
    ) -> ShardingPlan:
        from shardtide.log import Rejected, WorkloadPublisher

        assert wanted.change is not None
        names = {table["name"] for table in wanted.tables}
        gone = sorted({shard["table"] for shard in (latest["shards"] if latest else [])} - names)
        drops = [{"name": name} for name in gone]
        infeasible = _reader(log, wanted.workload, end)
        try:
            publisher = WorkloadPublisher(log)
            change = {**wanted.change, "changes": [*wanted.change["changes"], *drops]}
            outcome = publisher.publish_and_wait(change, _left(end))
            if isinstance(outcome, Rejected) and outcome.reason == "UNKNOWN_TABLE" and drops:
                # The latest plan is older than the workload, which lost the tables since.
                change = {**wanted.change, "eventId": str(uuid.uuid4())}
                outcome = publisher.publish_and_wait(change, _left(end))
            if isinstance(outcome, Rejected):
                why = f"{outcome.message} ({outcome.reason})"
                raise PlanRefused(f"The planner rejected the tables of workload {wanted.workload}: {why}")
            if outcome.generation is None:
                raise RuntimeError(f"Workload {wanted.workload} has no cluster, though one was published")
            return _of_generation(wanted.workload, outcome.generation, plans, infeasible, end)
        finally:
            if infeasible is not None:
                infeasible.close()


def _latest(plans: PlanSubscriber, end: float) -> ShardingPlan | None:
    try:
        return plans.get(timeout=_left(end))
    except LookupError:
        if plans.problem is not None:
            raise
        return None


def _reader(log: Log, workload: str, end: float) -> Reader | None:
    """Returns a reader of infeasible workloads; None for a user who may not read them."""
    try:
        return log.reader(INFEASIBLE, new_only=True, key=workload, until=end)
    except PermissionError:
        return None


def _of_generation(
    workload: str, generation: int, plans: PlanSubscriber, infeasible: Reader | None, end: float
) -> ShardingPlan:
    """Returns a plan of a generation or a later one."""
    while True:
        record = None
        try:
            record = infeasible.poll(0) if infeasible is not None else None
        except ConnectionError:
            # The registry does not answer; the record is read again.
            pass
        except PermissionError:
            infeasible = None
        if record is not None and record.value is not None and record.value["generation"] >= generation:
            raise PlanRefused(f"Workload {workload} has no plan: {record.value['message']}")
        try:
            return plans.get(generation, min(POLL_SECONDS, _left(end)))
        except (TimeoutError, ConnectionError):
            # A reader retries: what the subscriber met last is raised at the end only.
            if time.monotonic() >= end:
                raise


def _left(end: float) -> float:
    return max(0.0, end - time.monotonic())


class ProgramSource:
    """Plans with the program `shardtide plan make -f`, without Kafka.

    program: its path; None: the `shardtide` of the PATH. It is needed on rank 0 only
    arguments: further ones of `shardtide plan make`, such as ("--model", "h100.avro")
    """

    name = "program"
    needs_tables = True

    def __init__(self, program: str | pathlib.Path | None = None, arguments: Sequence[str] = ()):
        self._program = program
        self._arguments = list(arguments)

    def plan(self, wanted: Wanted, timeout_seconds: float) -> Mapping[str, Any]:
        program = self._found()
        with tempfile.TemporaryDirectory(prefix="shardtide-") as name:
            folder = pathlib.Path(name)
            workloads, plans = folder / "workloads.jsonl", folder / "plans.jsonl"
            line = {"task": wanted.workload, "cluster": wanted.cluster, "tables": wanted.tables}
            workloads.write_text(json.dumps(line, default=_json_value) + "\n", encoding="utf-8")
            command = [program, "plan", "make", "-f", str(workloads), "--out", str(plans), *self._arguments]
            status, said = _run(command, folder / "said", timeout_seconds)
            if plans.exists():
                # Also of a workload that does not fit, for which the program fails.
                return FileSource(plans).plan(wanted, timeout_seconds)
            # The file of workloads is ours.
            said = said.replace(f"{workloads}, ", "") or "no message"
            raise PlanRefused(f"{' '.join(command[:3])} ended with status {status}: {said}")

    def _found(self) -> str:
        found = shutil.which("shardtide" if self._program is None else str(self._program))
        if found is None:
            where = "on the PATH" if self._program is None else f"at {self._program}, or it cannot be executed"
            raise FileNotFoundError(
                f"There is no program shardtide {where}. Unpack a release of Shardtide, which needs a JDK 17, and put"
                " its bin on the PATH; or name the one of a checkout: ProgramSource('/path/to/shardtide/shardtide')"
            )
        return found


def _run(command: list[str], output: pathlib.Path, timeout_seconds: float) -> tuple[int, str]:
    """Runs a program, and returns its status and the end of what it said; TimeoutError ends it and what it started."""
    options = f"{_JAVA_OPTIONS} {os.environ.get('SHARDTIDE_JAVA_OPTS', '')}".strip()
    with open(output, "w+", encoding="utf-8", errors="replace") as file:
        process = subprocess.Popen(
            command,
            env={**os.environ, "SHARDTIDE_JAVA_OPTS": options},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"{command[0]} has no plan after {timeout_seconds} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        file.seek(0)
        # Without bars of progress.
        lines = [line for line in file.read().replace("\r", "\n").splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Planning ")]
    return status, " ".join(said[-3:])


def _json_value(value: Any) -> Any:
    """Returns a scalar or an array of numpy as JSON has it, as LogSource takes them."""
    if type(value).__module__ == "numpy":
        return value.tolist()
    raise ValueError(f"cluster and tables must have numbers, texts, lists and dicts, got {shown(value)}")


class FileSource:
    """Takes a plan from a file, of a line of JSON for each workload; of several lines of it, the last one.

    Lines are those of `shardtide plan make --out`, or of shardtide-py convert, where paths of modules must be
    those of the model. The file is read on rank 0 only.
    """

    name = "file"
    needs_tables = False

    def __init__(self, path: str | pathlib.Path):
        self._path = pathlib.Path(path)

    def plan(self, wanted: Wanted, timeout_seconds: float) -> Mapping[str, Any]:
        lines = list(json_lines(self._path))
        if not lines:
            raise ValueError(f"{self._path} has no plan; ./shardtide plan make --out writes such files")
        names = [str(line.get("workload", line.get("task"))) for _, line in lines]
        found = [of for of, name in zip(lines, names) if name == wanted.workload or len(lines) == 1]
        if not found:
            known = ", ".join(dict.fromkeys(names))
            raise ValueError(f"{self._path} has no plan of workload {wanted.workload}; it has those of {known}")
        place, line = found[-1]
        return plan_of_line(line, place)


def plan_of_line(line: dict[str, Any], source: str) -> dict[str, Any]:
    """Returns a line of a file of plans as a description, or as a ShardingPlan record with the fields that matter."""
    if line.get("feasible") is False:
        raise PlanRefused(f"Workload {line.get('task')} has no plan: {line.get('reason', 'it does not fit')}")
    if "plan" not in line and "tables" not in line:
        raise ValueError(f"{source} must have plan or tables, got {', '.join(line) or 'nothing'}")
    if "world_size" not in line:
        remedy = "write the file again with this version of ./shardtide plan"
        remedy = "shardtide-py convert writes such lines" if "plan" in line else remedy
        raise ValueError(f"{source} has no world_size; {remedy}")
    if "plan" in line:
        return line
    return {
        **plan_record(line).record,
        "planId": str(line.get("task")),
        "searchMillis": 1000 * line.get("seconds", 0.0),
        **{field: line[field] for field in _MADE_FOR if field in line},
    }
