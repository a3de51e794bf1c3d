package io.shardtide.bench.soak;

import io.shardtide.bench.SyntheticTables;
import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Registry;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * What publishers and trainers do during a soak: changes to tables, some of them bad; plans are
 * adopted, and their steps measured. An event that Kafka does not acknowledge is sent again, with
 * the same id, until Kafka has it. Tables, changes and noise are drawn from a seed.
 */
final class SoakLoad implements AutoCloseable {
  private static final int TABLES = 12;
  private static final int COLUMNS = 64;
  private static final int DEVICES = 8;
  private static final int BATCH_SIZE = 65_536;
  private static final long GIB = 1L << 30;
  private static final String SOURCE = "soak";

  /**
   * One event in so many is bad: it drops a table that there is not. So is one status, of a plan
   * that there is not, and one measurement, which lacks a device.
   */
  private static final int BAD = 20;

  private static final int STEPS = 100;

  /** Standard deviation of measured costs, as a share of predicted ones. */
  private static final double NOISE = 0.02;

  private static final long RETRY_MILLIS = 200;

  private final Ledger ledger;
  private final Waits waits;
  private final SoakAnswers answers;
  private final WorkloadPublisher publisher;
  private final TrainerReports reports;
  private final Random random;
  private final String hardware;
  private final List<List<TableSpec>> tables = new ArrayList<>();
  private final Map<String, String> adopted = new HashMap<>();
  private final Map<String, Long> steps = new HashMap<>();
  private final LongAdder failures = new LongAdder();
  private volatile boolean sendsBad;
  private volatile RuntimeException failure;
  private final ScheduledExecutorService thread = daemon("soak-load");
  private final ScheduledExecutorService retries = daemon("soak-retries");

  /**
   * Connects.
   *
   * @param endpoint the cluster, without faults between
   * @param registry looks schemas up; not closed with this
   * @param workloads number of workloads
   * @param hardware hardware that the planners have a model of
   * @param seed draws tables, changes and noise
   * @param ledger notes what is sent
   * @param waits notes when
   * @param answers knows the latest plans
   */
  SoakLoad(
      Endpoint endpoint,
      Registry registry,
      int workloads,
      String hardware,
      long seed,
      Ledger ledger,
      Waits waits,
      SoakAnswers answers) {
    this.ledger = ledger;
    this.waits = waits;
    this.answers = answers;
    this.hardware = hardware;
    random = new Random(seed);
    for (int w = 0; w < workloads; w++) {
      tables.add(SyntheticTables.of(TABLES, COLUMNS, seed + w));
    }
    publisher = WorkloadPublisher.connect(endpoint, SOURCE);
    reports = TrainerReports.connect(endpoint, registry, SOURCE, "run");
  }

  private static ScheduledExecutorService daemon(String name) {
    return Executors.newScheduledThreadPool(
        1,
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          return thread;
        });
  }

  /** Publishes all workloads. */
  void begin() {
    for (int w = 0; w < tables.size(); w++) {
      List<Change> changes = new ArrayList<>();
      changes.add(
          new Change.ClusterSet(new ClusterSpec(DEVICES, 80 * GIB, BATCH_SIZE, DEVICES, hardware)));
      tables.get(w).forEach(table -> changes.add(new Change.TableUpserted(table)));
      send(event(w, changes), Ledger.Validity.VALID);
    }
  }

  /**
   * Changes workloads, and reports a step after every second change, until {@link #end}.
   *
   * @param perSecond changes a second
   */
  @SuppressWarnings("FutureReturnValueIgnored") // Tasks catch what they can continue after.
  void run(double perSecond) {
    long nanos = (long) (1e9 / perSecond);
    thread.scheduleAtFixedRate(noted(this::change), nanos, nanos, TimeUnit.NANOSECONDS);
    thread.scheduleAtFixedRate(noted(this::measure), nanos, 2 * nanos, TimeUnit.NANOSECONDS);
  }

  private Runnable noted(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException e) {
        failure = e;
        throw e;
      }
    };
  }

  /** Throws what ended the changes or the reports. */
  void check() {
    if (failure != null) {
      throw new IllegalStateException("The load ended: " + failure.getMessage(), failure);
    }
  }

  /** Returns how often Kafka did not acknowledge an event, which was sent again. */
  long failures() {
    return failures.sum();
  }

  /** No more changes and reports. */
  void end() throws InterruptedException {
    check();
    thread.shutdown();
    if (!thread.awaitTermination(1, TimeUnit.MINUTES)) {
      throw new IllegalStateException("A change is being sent for more than a minute");
    }
  }

  private static String workload(int w) {
    return "soak_%03d".formatted(w);
  }

  private static WorkloadChange event(int w, List<Change> changes) {
    return new WorkloadChange(
        UUID.randomUUID(), workload(w), Instant.now(), SOURCE, OptionalLong.empty(), changes);
  }

  /** From now on some records are bad. */
  void sendBad() {
    sendsBad = true;
  }

  private boolean isBad() {
    return random.nextInt(BAD) == 0 && sendsBad;
  }

  private void change() {
    int w = random.nextInt(tables.size());
    if (isBad()) {
      send(event(w, List.of(new Change.TableDropped("no_such_table"))), Ledger.Validity.BAD);
      return;
    }
    // Of the first table, not of the last one: tables would grow as long as the soak lasts.
    TableSpec changed = SyntheticTables.changed(tables.get(w).get(random.nextInt(TABLES)), random);
    send(event(w, List.of(new Change.TableUpserted(changed))), Ledger.Validity.VALID);
  }

  private void send(WorkloadChange event, Ledger.Validity validity) {
    waits.sent(event.eventId(), System.nanoTime());
    publish(event, validity);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // Both ways to complete are handled.
  private void publish(WorkloadChange event, Ledger.Validity validity) {
    try {
      publisher
          .publish(event)
          .whenComplete(
              (position, error) -> {
                deliver(event, validity, Optional.ofNullable(position));
                if (error == null) {
                  answers.acknowledged(event.eventId(), event.workloadId(), position);
                } else {
                  again(event, validity);
                }
              });
    } catch (RuntimeException e) {
      // The registry or the cluster does not answer: nothing was sent.
      again(event, validity);
    }
  }

  private void deliver(
      WorkloadChange event, Ledger.Validity validity, Optional<SourcePosition> position) {
    ledger.add(
        new Ledger.Delivery(
            Ledger.InputKind.EVENT,
            event.eventId().toString(),
            event.workloadId(),
            validity,
            position));
  }

  @SuppressWarnings("FutureReturnValueIgnored")
  private void again(WorkloadChange event, Ledger.Validity validity) {
    failures.increment();
    retries.schedule(() -> publish(event, validity), RETRY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** A trainer of a random workload adopts its latest plan, if it is new, and reports a step. */
  private void measure() {
    ShardingPlan plan = answers.latest().get(workload(random.nextInt(tables.size())));
    if (plan == null) {
      return;
    }
    String id = plan.workloadId();
    long step = steps.merge(id, (long) STEPS, Long::sum);
    if (!plan.planId().equals(adopted.put(id, plan.planId()))) {
      var unused = reports.adopted(plan, step);
    }
    if (isBad()) {
      var unused = reports.adopted(withoutPlan(plan), step);
    }
    List<MeasuredDevice> devices = new ArrayList<>();
    for (DeviceCost cost : plan.prediction().deviceCosts()) {
      devices.add(
          new MeasuredDevice(
              noisy(cost.computeMs()),
              noisy(cost.forwardCommMs()),
              noisy(cost.backwardCommMs()),
              OptionalDouble.empty()));
    }
    boolean isBad = isBad();
    if (isBad) {
      devices.remove(0);
    }
    ledger.add(
        new Ledger.Delivery(
            Ledger.InputKind.MEASUREMENT,
            "%s/%s/%d".formatted(SOURCE, "run", step),
            id,
            isBad ? Ledger.Validity.BAD : Ledger.Validity.VALID,
            Optional.empty()));
    var unused = reports.measured(plan, step, STEPS, devices);
  }

  /** Returns a plan that the planner does not know. */
  private static ShardingPlan withoutPlan(ShardingPlan plan) {
    return new ShardingPlan(
        "000000000000",
        plan.origin(),
        plan.reason(),
        plan.shards(),
        plan.replication(),
        List.of(),
        List.of(),
        plan.prediction(),
        plan.transition(),
        plan.run());
  }

  private double noisy(double ms) {
    return ms * StrictMath.exp(NOISE * random.nextGaussian());
  }

  @Override
  public void close() {
    thread.shutdownNow();
    retries.shutdownNow();
    reports.close();
    publisher.close();
  }
}
