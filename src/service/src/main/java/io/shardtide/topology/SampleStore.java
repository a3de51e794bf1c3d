package io.shardtide.topology;

import io.shardtide.cost.CostSample;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingState;
import io.shardtide.workload.CanonicalHash;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/**
 * The samples of each kind of hardware for retraining: the newest, and a reservoir of the older
 * ones, chosen by the hash of their measurement, so that the choice is uniform over time and
 * reproducible.
 */
final class SampleStore {
  private final KeyedStore<TrainingState> states;
  private final KeyedStore<CostSample> newest;
  private final KeyedStore<CostSample> older;
  private final TrainingPolicy policy;

  /**
   * The samples of a kind of hardware.
   *
   * @param samples in the order of the log
   * @param driftFrom position of the first one after the alarm; their number without an alarm
   */
  record Kept(List<CostSample> samples, int driftFrom) {}

  SampleStore(KeyedStore.Opener stores, TrainingPolicy policy) {
    states = stores.open(StoreName.TRAINING_STATES);
    newest = stores.open(StoreName.NEWEST_SAMPLES);
    older = stores.open(StoreName.OLDER_SAMPLES);
    this.policy = policy;
  }

  /** Returns the state of a kind of hardware. */
  TrainingState state(String hardware, long nowMs) {
    return states.get(hardware, "").orElse(TrainingState.begin(nowMs));
  }

  void put(String hardware, TrainingState state) {
    states.put(hardware, "", state);
  }

  /** Visits every kind of hardware. */
  void forEach(BiConsumer<String, TrainingState> visitor) {
    Map<String, TrainingState> all = new TreeMap<>();
    states.forEach(all::put);
    all.forEach(visitor);
  }

  /** Adds a sample, and deletes another if there are too many. */
  void add(CostSample sample, long nowMs) {
    String hardware = sample.hardware();
    TrainingState state = state(hardware, nowMs);
    newest.put(hardware, number(state.received()), sample);
    long aged = state.received() - policy.recent();
    int kept = state.olderKept();
    Optional<CostSample> leaving = newest.delete(hardware, number(aged));
    if (leaving.isPresent()) {
      kept = keepOlder(hardware, aged, leaving.get(), kept);
    }
    boolean isComputation = sample.cost() instanceof CostSample.Computation;
    put(hardware, state.received(isComputation).with().olderKept(kept).build());
  }

  private int keepOlder(String hardware, long number, CostSample sample, int kept) {
    String rank = new CanonicalHash("older").put(sample.measurementId()).hex().substring(0, 16);
    older.put(hardware, rank + number(number), sample);
    if (kept < policy.old()) {
      return kept + 1;
    }
    older.delete(hardware, older.highest(hardware));
    return kept;
  }

  /** Returns the samples of a kind of hardware. */
  Kept of(String hardware, TrainingState state) {
    TreeMap<Long, CostSample> samples = new TreeMap<>();
    for (KeyedStore<CostSample> store : List.of(older, newest)) {
      store
          .range(hardware)
          .forEach(
              (name, sample) ->
                  samples.put(Long.parseLong(name.substring(name.length() - 19)), sample));
    }
    return new Kept(
        List.copyOf(samples.values()),
        samples.headMap(state.driftFrom().orElse(Long.MAX_VALUE)).size());
  }

  private static String number(long number) {
    return "%019d".formatted(number);
  }
}
