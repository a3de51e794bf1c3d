package io.shardtide.bench.soak;

import java.time.Duration;
import java.util.Optional;

/** What a soak does to its cluster. */
public enum FaultKind {
  /** A planner is killed and started again. */
  PLANNER_KILLED("planner killed", Duration.ofSeconds(3), Duration.ofSeconds(20), "PlannerDown"),
  /** All planners are restarted, one after another, as for an upgrade. */
  PLANNERS_RESTARTED(
      "rolling restart of all planners", Duration.ZERO, Duration.ZERO, "PlannerDown"),
  /** A planner reaches neither brokers nor registries; the others do. */
  PLANNER_CUT_OFF(
      "planner cut off", Duration.ofSeconds(3), Duration.ofSeconds(20), "PlannerCutOff"),
  /** A planner stands still, as in a long pause of its machine, and goes on without knowing. */
  PLANNER_PAUSED("planner paused", Duration.ofSeconds(2), Duration.ofSeconds(15), "PlannerDown"),
  /** A broker is killed and started again. */
  BROKER_KILLED("broker killed", Duration.ofSeconds(5), Duration.ofSeconds(20), "ReplicasMissing"),
  /** All brokers are restarted, one after another, as for an upgrade. */
  BROKERS_RESTARTED(
      "rolling restart of all brokers", Duration.ZERO, Duration.ZERO, "ReplicasMissing"),
  /** What a broker and the planners send one another takes longer. */
  BROKER_SLOW("broker slow", Duration.ofSeconds(5), Duration.ofSeconds(20), ""),
  /** Other brokers lead the partitions. */
  LEADERS_MOVED("leaders moved", Duration.ZERO, Duration.ZERO, ""),
  /** A broker has no copies of anything, and then copies of everything again. */
  PARTITIONS_REASSIGNED("partitions reassigned", Duration.ofSeconds(1), Duration.ofSeconds(5), ""),
  /** A registry is killed; another one has its address. */
  REGISTRY_KILLED(
      "one of two registries killed", Duration.ofSeconds(5), Duration.ofSeconds(15), ""),
  /** No registry answers, and a planner is restarted meanwhile: it needs one. */
  REGISTRY_AWAY("registry away", Duration.ofSeconds(5), Duration.ofSeconds(15), "RegistryDown"),
  /** A planner's disk fills and is freed. */
  DISK_FULL("planner's disk full", Duration.ofSeconds(5), Duration.ofSeconds(15), "DiskNearlyFull"),
  /** A planner's clock is set back or ahead by up to half an hour. */
  CLOCK_STEPPED(
      "planner's clock stepped", Duration.ofSeconds(5), Duration.ofSeconds(15), "ClockWrong");

  private final String shown;
  private final Duration shortest;
  private final Duration longest;
  private final String alert;

  FaultKind(String shown, Duration shortest, Duration longest, String alert) {
    this.shown = shown;
    this.shortest = shortest;
    this.longest = longest;
    this.alert = alert;
  }

  /**
   * Returns the alert that names it if it lasts; empty if none shall fire, because all is answered
   * as before.
   */
  Optional<String> alert() {
    return alert.isEmpty() ? Optional.empty() : Optional.of(alert);
  }

  /** Returns what happens, for display. */
  String shown() {
    return shown;
  }

  /** Returns how long it lasts at least; 0 if it is over as soon as it is done. */
  Duration shortest() {
    return shortest;
  }

  /** Returns how long it lasts at most. */
  Duration longest() {
    return longest;
  }
}
