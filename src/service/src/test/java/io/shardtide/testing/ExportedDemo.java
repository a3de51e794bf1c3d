package io.shardtide.testing;

import io.shardtide.workload.Change;
import io.shardtide.workload.Change.ClusterSet;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * What the owners of several workloads publish, drawn by a seed: tables that come, change and go,
 * several at a time, clusters that change, generations that do not fit, events sent twice, and
 * events that are wrong.
 */
public final class ExportedDemo {
  private final Random random;
  private final List<Publication> publications = new ArrayList<>();
  private final List<Publication> applied = new ArrayList<>();
  private final List<Workload> workloads = new ArrayList<>();

  /**
   * One record on workload-changes.
   *
   * @param workloadId its key
   * @param event its value; empty for bytes that are no event
   */
  public record Publication(String workloadId, Optional<WorkloadChange> event) {}

  private ExportedDemo(long seed, int count) {
    random = new Random(seed);
    for (int w = 0; w < count; w++) {
      workloads.add(Workload.empty("workload-" + w));
    }
  }

  /**
   * Draws a life.
   *
   * @param seed of all that is drawn
   * @param workloads how many there are
   * @param records how many records
   */
  public static ExportedDemo of(long seed, int workloads, int records) {
    ExportedDemo life = new ExportedDemo(seed, workloads);
    while (life.publications.size() < records - workloads) {
      life.next(life.random.nextInt(workloads));
    }
    for (int w = 0; w < workloads; w++) {
      life.end(w);
    }
    return life;
  }

  /** Returns what is published, in order. */
  public List<Publication> publications() {
    return List.copyOf(publications);
  }

  /** Returns each workload's generation at the end; a plan for it fits. */
  public Map<String, Long> generations() {
    return workloads.stream().collect(Collectors.toMap(Workload::id, Workload::generation));
  }

  /** Returns how many of the records are not applied. */
  public int rejections() {
    return publications.size() - applied.size();
  }

  private void next(int w) {
    Workload workload = workloads.get(w);
    int kind = random.nextInt(20);
    if (kind == 0) {
      publications.add(new Publication(workload.id(), Optional.empty()));
    } else if (kind == 1 && !applied.isEmpty()) {
      // A publisher that did not hear that its event arrived.
      publications.add(applied.get(random.nextInt(applied.size())));
    } else if (kind == 2) {
      publish(event(workload, OptionalLong.of(workload.generation() + 1), List.of(cluster(2))));
    } else if (kind == 3) {
      publish(event(workload, OptionalLong.empty(), List.of(upsert(), Fixtures.drop("nowhere"))));
    } else {
      apply(w, event(workload, OptionalLong.empty(), changes(workload, kind)));
    }
  }

  /** The last event of each workload fits, so that its last generation has a plan. */
  private void end(int w) {
    Workload workload = workloads.get(w);
    List<Change> changes = new ArrayList<>(List.of(cluster(8), upsert()));
    workload.tables().keySet().stream()
        .filter(name -> name.startsWith("huge"))
        .forEach(name -> changes.add(Fixtures.drop(name)));
    apply(w, event(workload, OptionalLong.empty(), changes));
  }

  private List<Change> changes(Workload workload, int kind) {
    List<Change> changes = new ArrayList<>();
    if (workload.generation() > 0 && kind < 7) {
      changes.add(cluster(2 + random.nextInt(5)));
    } else if (workload.generation() > 0 && kind == 7) {
      // More than any of these clusters holds.
      changes.add(Fixtures.upsert("huge", 1_000_000_000, 64, 1));
    } else if (workload.generation() == 0 && random.nextBoolean()) {
      changes.add(cluster(4));
    }
    for (String name : workload.tables().keySet()) {
      if (random.nextInt(name.equals("huge") ? 3 : 15) == 0) {
        changes.add(Fixtures.drop(name));
      }
    }
    for (int more = random.nextInt(4); more > 0 || changes.isEmpty(); more--) {
      changes.add(upsert());
    }
    // An event changes a table once.
    Set<Optional<String>> seen = new HashSet<>();
    changes.removeIf(change -> !seen.add(table(change)));
    return changes;
  }

  private static Optional<String> table(Change change) {
    if (change instanceof Change.TableUpserted upserted) {
      return Optional.of(upserted.table().name());
    }
    return change instanceof Change.TableDropped dropped
        ? Optional.of(dropped.name())
        : Optional.empty();
  }

  private Change upsert() {
    return Fixtures.upsert(
        "t" + random.nextInt(12),
        1_000 + random.nextInt(2_000_000),
        4 * (1 + random.nextInt(32)),
        1 + random.nextInt(50));
  }

  private Change cluster(int devices) {
    ClusterSpec cluster = Fixtures.cluster(devices, 4 * Fixtures.GIB);
    return new ClusterSet(
        random.nextInt(3) > 0
            ? cluster
            : new ClusterSpec(
                devices,
                cluster.memoryBytesPerDevice(),
                cluster.batchSize() / 2,
                cluster.devicesPerNode(),
                cluster.hardware()));
  }

  private WorkloadChange event(Workload workload, OptionalLong expected, List<Change> changes) {
    String name = workload.id() + " " + publications.size();
    return new WorkloadChange(
        UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)),
        workload.id(),
        Fixtures.TIME,
        "test",
        expected,
        changes);
  }

  private void apply(int w, WorkloadChange event) {
    workloads.set(w, workloads.get(w).apply(event));
    publish(event);
    applied.add(publications.get(publications.size() - 1));
  }

  private void publish(WorkloadChange event) {
    publications.add(new Publication(event.workloadId(), Optional.of(event)));
  }
}
