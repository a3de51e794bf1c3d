package io.shardtide.topology;

import io.shardtide.cost.CostSample;
import io.shardtide.domain.CanonicalHash;
import io.shardtide.domain.TrainingPolicy;
import io.shardtide.domain.TrainingState;
import io.shardtide.wire.Codec;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * The samples of each kind of hardware for retraining: the newest, and a reservoir of the older
 * ones, chosen by the hash of their measurement, so that the choice is uniform over time and
 * reproducible.
 */
final class SampleStore {
  private final KeyValueStore<String, TrainingState> states;
  private final KeyValueStore<String, CostSample> newest;
  private final KeyValueStore<String, CostSample> older;
  private final TrainingPolicy policy;

  /**
   * The samples of a kind of hardware.
   *
   * @param samples in the order of the log
   * @param driftFrom position of the first one after the alarm; their number without an alarm
   */
  record Kept(List<CostSample> samples, int driftFrom) {}

  SampleStore(ProcessorContext<?, ?> context, TrainingPolicy policy) {
    states = context.getStateStore(StoreName.TRAINING_STATES.toString());
    newest = context.getStateStore(StoreName.NEWEST_SAMPLES.toString());
    older = context.getStateStore(StoreName.OLDER_SAMPLES.toString());
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
    List<KeyValue<String, TrainingState>> all = new ArrayList<>();
    try (KeyValueIterator<String, TrainingState> entries = states.all()) {
      entries.forEachRemaining(all::add);
    }
    all.forEach(entry -> visitor.accept(entry.key, entry.value));
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
    try (KeyValueIterator<String, CostSample> last = older.reverseRange(from, from + "~")) {
      return last.next().key;
    }
  }

  /** Returns the samples of a kind of hardware. */
  Kept of(String hardware, TrainingState state) {
    TreeMap<Long, CostSample> samples = new TreeMap<>();
    for (KeyValueStore<String, CostSample> store : List.of(older, newest)) {
      try (KeyValueIterator<String, CostSample> entries =
          store.prefixScan(StoreKeys.of(hardware, ""), new StringSerializer())) {
        while (entries.hasNext()) {
          KeyValue<String, CostSample> entry = entries.next();
          String key = entry.key;
          samples.put(Long.parseLong(key.substring(key.length() - 19)), entry.value);
        }
      }
    }
    return new Kept(
        List.copyOf(samples.values()),
        samples.headMap(state.driftFrom().orElse(Long.MAX_VALUE)).size());
  }

  private static String number(long number) {
    return "%019d".formatted(number);
  }
}
