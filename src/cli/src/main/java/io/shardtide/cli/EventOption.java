package io.shardtide.cli;

import io.shardtide.client.WorkloadPublisher;
import io.shardtide.wire.Codec;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import picocli.CommandLine.Option;

/** The options of commands that change workloads, and how they publish the events. */
final class EventOption extends SourceOption<WorkloadChange> {
  @Option(
      names = "--if-generation",
      paramLabel = "N",
      description =
          "The generation that the workload must have before; another publisher's change rejects"
              + " the event.")
  private Long generation;

  @Option(
      names = "--dry-run",
      description = "Check the events, print them as lines for a file, and publish nothing.")
  private boolean isDry;

  EventOption() {
    super("workload", "a planner", WorkloadChange::eventId, WorkloadChange::workloadId);
  }

  @Override
  void check() throws IOException {
    if (!isDry) {
      super.check();
    }
  }

  /** Returns a new event with changes of a workload. */
  WorkloadChange event(String workload, List<Change> changes) {
    WorkloadChange event =
        new WorkloadChange(
            UUID.randomUUID(),
            workload,
            Instant.now(),
            source(),
            generation == null ? OptionalLong.empty() : OptionalLong.of(generation),
            changes);
    event.checkDistinct();
    return event;
  }

  /**
   * Publishes events, and prints the planner's decision on each.
   *
   * @return the exit status: 0 if all were accepted
   */
  int publish(List<WorkloadChange> events) throws InterruptedException {
    if (isDry) {
      events.forEach(event -> print(JsonText.line(JsonText.tree(Codec.WORKLOAD_CHANGE, event))));
      return 0;
    }
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint(), source())) {
      int accepted = publish(publisher, events).size();
      print(table());
      return accepted == events.size() ? 0 : 1;
    }
  }
}
