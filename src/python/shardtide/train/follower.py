"""Makes a program that trains follow the plans of a workload."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Callable, Protocol, Sequence

from shardtide.arguments import Closing
from shardtide.errors import ShardtideError
from shardtide.train.ranks import RankLost, Ranks, by_rank
from shardtide.train.replication import replication_of
from shardtide.waves import MoveWave, MoveWaves, move_waves

if TYPE_CHECKING:
    from shardtide.log import Log, PlanSubscriber, TrainerReports
    from shardtide.records import ShardingPlan
    from shardtide.train.meter import StepMeter

logger = logging.getLogger("shardtide")


class Resharder(Protocol):
    """What a program does to go to another plan; implemented by shardtide.torchrec and by examples/dlrm."""

    def prepare(self, plan: ShardingPlan) -> object:
        """Checks on this rank that a ShardingPlan can be applied; the result goes to apply().

        It changes nothing and sends no messages. An exception refuses the plan on all ranks; its text is the reason.
        """

    def apply(self, prepared: Any) -> None:
        """Goes to the plan. Called on all ranks, after prepare() succeeded on all of them."""


class WaveResharder(Resharder, Protocol):
    """A program that can go to another plan wave by wave, with steps in between."""

    def apply_wave(self, prepared: Any, wave: MoveWave) -> None:
        """Shards the tables of a wave as in the plan, and no others; called on all ranks.

        After the last wave, apply() does what is left: tables that are new or changed and do not move.
        """


class ReshardFailed(ShardtideError, RuntimeError):
    """Shards were being moved when a rank failed; the state of the model is undefined on all ranks.

    The message names the ranks and what they met. Start again from a checkpoint.
    """


class PlanFollower(Closing):
    """Which plan a job runs, and which it is to run next; on every rank. docs/CLIENTS.md has an example.

    Rank 0 reads plans, and all ranks go to the same plan between the same two steps, or none does: first each rank says
    whether it can. Rank 0 reports which plan runs; the planner counts the next plan's moves from that one.

    Training never waits for Kafka or the schema registry after start(): plans are read and reports are sent in the
    background. While Kafka is away, the job keeps its plan, and reports wait in a bounded buffer (TrainerReports).

    log: a shardtide.log.Log on rank 0; None on all others
    meter: what report() reports; None if the program measures by itself
    source, capacity: as of TrainerReports
    timeout_seconds: how long ranks wait for each other

    running: the ShardingPlan that runs, a dict with the fields of avro/ShardingPlan.avsc; empty before start(). While
        follow_wave() has waves left, the plan that ran before them
    reports: the TrainerReports of rank 0; None on all others
    """

    def __init__(
        self,
        log: Log | None,
        workload: str,
        meter: StepMeter | None = None,
        source: str = "pytorch",
        capacity: int = 1000,
        timeout_seconds: float = 60.0,
    ):
        self.running: ShardingPlan = {}  # type: ignore[typeddict-item]
        self.reports: TrainerReports | None = None
        self.ranks = Ranks(timeout_seconds)
        self._meter = meter
        self._plans: PlanSubscriber | None = None
        # The plan that is being gone to in waves, and what prepare() returned for it.
        self._next_plan: tuple[ShardingPlan, object] | None = None
        self._waves: list[MoveWave] = []
        self._waves_made = 0
        if (log is not None) != (self.ranks.rank == 0):
            raise ValueError(f"log must be given on rank 0 only; this is rank {self.ranks.rank}")
        if log:
            # The other ranks need no client of Kafka.
            from shardtide.log import PlanSubscriber, TrainerReports

            self.reports = TrainerReports(log, workload, source, capacity=capacity)
            self._plans = PlanSubscriber(log, workload)

    def start(self, step: int = 0, timeout_seconds: float = 60.0) -> ShardingPlan:
        """Returns the workload's plan, to shard a new model by. Call it on all ranks.

        Raises on all ranks what rank 0 met: LookupError if the workload has no plan; ConnectionError if Kafka or the
        registry does not answer in time; PermissionError; ValueError if the plan is for another number of ranks.
        """
        plan, error = self.ranks.from_first(self._first(timeout_seconds)) or (None, None)
        if error:
            raise error
        assert plan is not None
        self.running = plan
        if self.reports:
            self.reports.finished_moving(plan["planId"], step)
        return plan

    def follow(self, step: int, resharder: Resharder) -> bool:
        """Goes to the newest plan if there is another one; returns whether the job runs another plan now.

        Call it on all ranks between the same two steps, after start(). A plan that a rank refuses is reported as rejected
        with that rank's reason; all ranks keep the plan that runs. ReshardFailed on all ranks if one fails while shards
        move; RankLost if one does not answer before that.
        """
        if self._next_plan:
            raise RuntimeError(f"follow_wave() has {len(self.waves_left)} waves left to make; call it until it has none")
        found = self._agree(step, resharder)
        if found is None:
            return False
        plan, prepared = found
        self._together(lambda: resharder.apply(prepared), plan["planId"])
        self._run(plan, step, 1, 1)
        return True

    def follow_wave(
        self, step: int, resharder: WaveResharder, waves: Callable[[ShardingPlan], MoveWaves] = move_waves
    ) -> bool:
        """Makes one wave of the moves to the newest plan, if there is another one; returns whether it did.

        As follow(), between the same two steps on all ranks, which then train on: tables of the waves made are sharded as
        in the new plan, all others as before. The plan is reported as adopted before the first wave, and each wave as
        finished moving. Plans that are newer still wait until all waves are made. A plan without moves, or whose moves
        are not from the plan that runs, is gone to at once. Costs of steps before the last wave are not reported.

        waves: divides the moves; the same on all ranks: functools.partial of shardtide.waves.move_waves chooses how
        """
        if not self._next_plan:
            found = self._agree(step, resharder)
            if found is None:
                return False
            plan = found[0]
            # Moves from another plan than the one that runs are not what this job has to do.
            self._waves = waves(plan).waves if plan.get("previousPlanId") == self.running["planId"] else []
            self._waves_made = 0
            self._next_plan = found
            if self.reports:
                self.reports.adopted(plan["planId"], step)
        plan, prepared = self._next_plan
        left = self.waves_left
        if left:
            self._together(lambda: resharder.apply_wave(prepared, left[0]), plan["planId"])
            self._waves_made += 1
        if len(left) <= 1:
            self._together(lambda: resharder.apply(prepared), plan["planId"])
            self._next_plan = None
            self._run(plan, step, max(1, len(self._waves)), max(1, len(self._waves)))
        elif self.reports:
            self.reports.finished_moving(plan["planId"], step, self._waves_made, len(self._waves))
        return True

    @property
    def waves_left(self) -> list[MoveWave]:
        """The waves that follow_wave() has yet to make of the plan that it is going to, the next one first."""
        return self._waves[self._waves_made :]

    def report(self, step: int) -> None:
        """Reports what the meter measured since the last call; call it on all ranks after the same step.

        It gathers a few numbers from each rank. Once every few seconds is enough. Nothing is reported if no step was
        measured. If the plan has replica groups, these are the costs of the first one, as the plan has those of one.
        """
        if self._meter is None:
            raise ValueError("report needs a meter; give one to PlanFollower, or call measured()")
        if self._next_plan:
            self._meter.clear()
            return
        size = self.ranks.size
        costs = self._meter.costs(self.ranks, replication_of(self.running, size).ranks_of(0, size))
        if costs:
            self.measured(step, costs.steps, costs.devices, costs.collectives)

    def measured(
        self, step: int, steps: int, devices: list[dict[str, float]], collectives: Sequence[dict[str, Any]] = ()
    ) -> None:
        """Reports what steps cost with the running plan; does nothing on ranks other than 0.

        Arguments as TrainerReports.measured; ValueError if there is not one entry for each device of the plan, or if
        the computation of a device that has shards is not above 0 ms, since the planner would reject that.
        """
        count = len(self.running["deviceCosts"])
        if len(devices) != count:
            raise ValueError(f"devices must have {count} entries, got {len(devices)}")
        holders = {shard["device"] for shard in self.running["shards"]}
        for device, cost in enumerate(devices):
            if not holders.isdisjoint((device, -1)) and not cost["computeMs"] > 0:
                raise ValueError(
                    f"computeMs of device {device} must be above 0, since the plan has shards on it, got"
                    f" {cost['computeMs']}: surround its computation with meter.computation()"
                )
        if self.reports and not self._next_plan:
            self.reports.measured(self.running["planId"], step, steps, devices, collectives)

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Stops reading plans and sends the reports that wait, at most for a time; drops the rest."""
        if self._plans:
            self._plans.close()
        if self.reports:
            self.reports.close(timeout_seconds)

    def _first(self, timeout_seconds: float) -> tuple[ShardingPlan | None, Exception | None]:
        """Returns rank 0's plan or what it met: the other ranks wait for a value."""
        try:
            plan = self._plans.get(timeout=timeout_seconds) if self._plans else None
            if plan:
                replication_of(plan, self.ranks.size)
            return plan, None
        except Exception as e:
            return None, e if isinstance(e, (OSError, LookupError, ValueError)) else RuntimeError(str(e))

    def _agree(self, step: int, resharder: Resharder) -> tuple[ShardingPlan, object] | None:
        """Returns the newest plan and what prepare() returned, if there is another one that no rank refuses."""
        newest = self._plans.poll() if self._plans else None
        is_running = newest is not None and newest["planId"] == self.running["planId"]
        plan = self.ranks.from_first(None if is_running else newest)
        if plan is None:
            return None
        prepared, problem = None, None
        try:
            replication_of(plan, self.ranks.size)
            prepared = resharder.prepare(plan)
        except Exception as e:
            # Nothing has changed on any rank: training goes on, whatever it was.
            problem = str(e) or type(e).__name__
        answers = self.ranks.gather((self.running["planId"], problem))
        if len({running for running, _ in answers}) > 1:
            ran = ", ".join(f"rank {rank} runs {running}" for rank, (running, _) in enumerate(answers))
            raise RuntimeError(f"All ranks must run one plan; {ran}")
        refusals = by_rank([problem for _, problem in answers])
        if not refusals:
            return plan, prepared
        if self.reports:
            logger.warning("Plan %s is rejected at step %d: %s", plan["planId"], step, refusals)
            self.reports.rejected(plan["planId"], step, refusals)
        return None

    def _run(self, plan: ShardingPlan, step: int, wave: int, waves: int) -> None:
        self.running = plan
        if self._meter:
            self._meter.clear()
        if self.reports:
            self.reports.finished_moving(plan["planId"], step, wave, waves)

    def _together(self, move: Callable[[], None], plan_id: str) -> None:
        """Moves shards on all ranks; ReshardFailed on all if one fails."""
        problem = None
        try:
            move()
        except Exception as e:
            problem = f"{type(e).__name__}: {e}"
        try:
            failures = by_rank(self.ranks.gather(problem))
        except RankLost as e:
            failures = f"{e}; {problem}" if problem else str(e)
        if failures:
            raise ReshardFailed(f"Moving shards to plan {plan_id} failed: {failures}")
