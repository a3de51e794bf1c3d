package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.PLAN_STATUS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.PlanStatus;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/** What publishers and trainers wrote, and which of it was rejected. */
final class InputRecords {
  private final SoakLog log;
  private final Findings findings;

  /** All positions, with the id of the record: of the event or measurement, empty if unknown. */
  private final Map<SourcePosition, String> ids = new HashMap<>();

  private final Map<String, List<LoggedEvent>> events = new TreeMap<>();
  private final Map<String, List<SourcePosition>> measurements = new HashMap<>();
  private final Map<SourcePosition, RejectionReason> rejections = new HashMap<>();
  private final Set<String> reported = new HashSet<>();

  /** Positions of events whose generation could not be planned. */
  private final Set<SourcePosition> failed = new HashSet<>();

  /**
   * An event that can be decoded.
   *
   * @param position where it lies
   * @param eventId its id
   * @param setsCluster whether it sets the workload's cluster
   * @param isDeletion whether it deletes the workload
   * @param expectedGeneration the generation that its publisher expects
   */
  record LoggedEvent(
      SourcePosition position,
      String eventId,
      boolean setsCluster,
      boolean isDeletion,
      OptionalLong expectedGeneration) {}

  private InputRecords(SoakLog log, Findings findings) {
    this.log = log;
    this.findings = findings;
  }

  static InputRecords read(SoakLog log, Findings findings) throws IOException {
    InputRecords inputs = new InputRecords(log, findings);
    inputs.read();
    return inputs;
  }

  private void read() throws IOException {
    Map<SourcePosition, String> unreadable = new HashMap<>();
    log.read(log.topics().of(WORKLOAD_CHANGES), record -> add(record, unreadable));
    List<Map.Entry<String, SourcePosition>> statuses = new ArrayList<>();
    log.read(
        log.topics().of(PLAN_STATUS),
        record -> {
          ids.put(record.position(), "");
          if (record instanceof CommittedRecord.Stored<PlanStatus> status) {
            statuses.add(Map.entry(status.value().workloadId(), status.position()));
          } else {
            note(record, unreadable);
          }
        });
    log.read(
        log.topics().of(MEASURED_COSTS),
        record -> {
          if (record instanceof CommittedRecord.Stored<MeasuredCosts> measured) {
            String id = measured.value().measurementId();
            ids.put(record.position(), id);
            measurements
                .computeIfAbsent(key(measured.value().workloadId(), id), k -> new ArrayList<>())
                .add(record.position());
          } else {
            ids.put(record.position(), "");
            note(record, unreadable);
          }
        });
    readRejections();
    statuses.stream()
        .filter(status -> !rejections.containsKey(status.getValue()))
        .forEach(status -> reported.add(status.getKey()));
    unreadable.forEach(
        (position, workload) -> {
          findings.checked(Guarantee.APPLIED_ONCE);
          if (!rejections.containsKey(position)) {
            findings.violated(
                Guarantee.APPLIED_ONCE,
                workload,
                List.of(position),
                "a record that cannot be decoded must be on rejected-events, got none");
          }
        });
  }

  private void add(CommittedRecord<WorkloadChange> record, Map<SourcePosition, String> unreadable) {
    if (record instanceof CommittedRecord.Stored<WorkloadChange> stored) {
      WorkloadChange event = stored.value();
      ids.put(stored.position(), event.eventId().toString());
      events
          .computeIfAbsent(event.workloadId(), id -> new ArrayList<>())
          .add(
              new LoggedEvent(
                  stored.position(),
                  event.eventId().toString(),
                  event.changes().stream().anyMatch(Change.ClusterSet.class::isInstance),
                  event.isDeletion(),
                  event.expectedGeneration()));
    } else {
      ids.put(record.position(), "");
      note(record, unreadable);
    }
  }

  private static void note(CommittedRecord<?> record, Map<SourcePosition, String> unreadable) {
    unreadable.put(
        record.position(),
        record instanceof CommittedRecord.Unreadable<?> bad ? bad.workloadId().orElse("") : "");
  }

  private void readRejections() throws IOException {
    Map<String, SourcePosition> last = new HashMap<>();
    log.read(
        log.topics().of(REJECTED_EVENTS),
        record -> {
          findings.checked(Guarantee.REJECTED_ONCE);
          if (record instanceof CommittedRecord.Stored<RejectedEvent> stored) {
            add(stored.position(), stored.value(), last);
          } else {
            findings.violated(
                Guarantee.REJECTED_ONCE, "", List.of(record.position()), "cannot be decoded");
          }
        });
  }

  private void add(SourcePosition at, RejectedEvent rejected, Map<String, SourcePosition> last) {
    SourcePosition source = rejected.source();
    String workload = rejected.workloadId().orElse("");
    if (rejected.reason() == RejectionReason.PLANNING_FAILED) {
      failed.add(source);
      return;
    }
    if (isInput(source.topic()) && !ids.containsKey(source)) {
      findings.violated(
          Guarantee.REJECTED_ONCE,
          workload,
          List.of(at),
          "names %s, where no record is".formatted(source));
    }
    if (rejections.putIfAbsent(source, rejected.reason()) != null) {
      findings.violated(
          Guarantee.REJECTED_ONCE, workload, List.of(at, source), "expected one, got two or more");
      return;
    }
    SourcePosition before =
        last.put(at.partition() + " of " + source.topic() + "-" + source.partition(), source);
    if (before != null && before.offset() > source.offset()) {
      findings.violated(
          Guarantee.REJECTED_ONCE,
          workload,
          List.of(at),
          "expected the order of the rejected records, got %s after %s".formatted(source, before));
    }
  }

  private boolean isInput(String topic) {
    return topic.equals(log.topics().of(WORKLOAD_CHANGES).name())
        || topic.equals(log.topics().of(PLAN_STATUS).name())
        || topic.equals(log.topics().of(MEASURED_COSTS).name());
  }

  /** Returns the key of an id within a workload. */
  static String key(String workloadId, String id) {
    return workloadId + '\0' + id;
  }

  /** Returns the id of the record at a position, empty if it has none that can be read. */
  Optional<String> idAt(SourcePosition position) {
    return Optional.ofNullable(ids.get(position));
  }

  /** Returns why a record was rejected; empty if it was not. */
  Optional<RejectionReason> rejection(SourcePosition position) {
    return Optional.ofNullable(rejections.get(position));
  }

  /** Returns the events by workload, in the order of their partition. */
  Map<String, List<LoggedEvent>> events() {
    return events;
  }

  /** Returns the positions of each measurement, by {@link #key}. */
  Map<String, List<SourcePosition>> measurements() {
    return measurements;
  }

  /** Returns whether a trainer reported on a workload, and was not rejected. */
  boolean isReported(String workloadId) {
    return reported.contains(workloadId);
  }

  /** Returns whether planning failed after an event. */
  boolean isFailed(SourcePosition source) {
    return failed.contains(source);
  }
}
