package io.shardtide.topology;

import io.shardtide.cost.CostSample;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.domain.TrainingState;
import io.shardtide.wire.Codec;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.kafka.streams.state.StoreBuilder;

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

  static List<StoreBuilder<?>> builders() {
    return List.of(
        StoreKeys.cached(StoreName.TRAINING_STATES, Codec.TRAINING_STATE),
        StoreKeys.builder(StoreName.NEWEST_SAMPLES, Codec.COST_SAMPLE),
        StoreKeys.builder(StoreName.OLDER_SAMPLES, Codec.COST_SAMPLE));
  }

  /** Returns the state of a kind of hardware. */
  TrainingState state(String hardware, long nowMs) {
    TrainingState state = states.get(hardware);
    return state == null ? TrainingState.begin(nowMs) : state;
  }

  void put(String hardware, TrainingState state) {
    states.put(hardware, state);
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
    newest.put(StoreKeys.of(hardware, number(state.received())), sample);
    long aged = state.received() - policy.recent();
    int kept = state.olderKept();
    if (aged >= 0) {
      String key = StoreKeys.of(hardware, number(aged));
      CostSample leaving = newest.get(key);
      if (leaving != null) {
        newest.delete(key);
        kept = keepOlder(hardware, aged, leaving, kept);
      }
    }
    put(hardware, state.received(sample.cost() instanceof CostSample.Computation).keeping(kept));
  }

  private int keepOlder(String hardware, long number, CostSample sample, int kept) {
    String rank = new CanonicalHash("older").put(sample.measurementId()).hex().substring(0, 16);
    older.put(StoreKeys.of(hardware, rank + number(number)), sample);
    if (kept < policy.old()) {
      return kept + 1;
    }
    older.delete(highest(hardware));
    return kept;
  }

  /** Returns the key of the older sample whose hash is highest. */
  private String highest(String hardware) {
    String from = StoreKeys.of(hardware, "");
    // The rest of a key is hexadecimal digits, which sort before the tilde.
    return older.highest(from, from + "~");
  }

  /** Returns the samples of a kind of hardware. */
  Kept of(String hardware, TrainingState state) {
    TreeMap<Long, CostSample> samples = new TreeMap<>();
    for (KeyedStore<CostSample> store : List.of(older, newest)) {
      store.forEach(
          hardware,
          entry ->
              samples.put(
                  Long.parseLong(entry.key.substring(entry.key.length() - 19)), entry.value));
    }
    return new Kept(
        List.copyOf(samples.values()),
        samples.headMap(state.driftFrom().orElse(Long.MAX_VALUE)).size());
  }

  private static String number(long number) {
    return "%019d".formatted(number);
  }
}
