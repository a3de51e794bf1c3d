package io.shardtide.testing;

import io.shardtide.cost.ModelBundle;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.MalformedRecordException;
import io.shardtide.wire.TopicType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** Records in lists, which tests may change. */
public final class MemoryRecords implements LogRecords {
  private final Map<TopicType<?>, List<Object>> values = new HashMap<>();
  private final Map<String, ModelBundle> models = new LinkedHashMap<>();

  public MemoryRecords() {
    LogRecords.NAMES.keySet().forEach(part -> values.put(part, new ArrayList<>()));
  }

  public <V> void add(TopicType<V> part, V value) {
    values.get(part).add(value);
  }

  public void add(ModelBundle bundle) {
    models.remove(bundle.modelId());
    models.put(bundle.modelId(), bundle);
  }

  public void removeModel(String id) {
    models.remove(id);
  }

  /** Forgets that records of a kind were ever kept. */
  public void forget(TopicType<?> part) {
    values.remove(part);
  }

  @SuppressWarnings("unchecked") // add puts nothing else there
  public <V> List<V> all(TopicType<V> part) {
    return (List<V>) values.get(part);
  }

  /** Changes each record; null takes it away. */
  public <V> void change(TopicType<V> part, UnaryOperator<V> change) {
    List<V> changed = new ArrayList<>();
    all(part)
        .forEach(
            value -> {
              V next = change.apply(value);
              if (next != null) {
                changed.add(next);
              }
            });
    values.put(part, new ArrayList<>(changed));
  }

  /** Returns the same records with workloads alternating in another way. */
  public MemoryRecords interleaved(Random random) {
    MemoryRecords other = new MemoryRecords();
    other.models.putAll(models);
    LogRecords.NAMES.keySet().forEach(part -> interleave(part, other, random));
    return other;
  }

  private <V> void interleave(TopicType<V> part, MemoryRecords other, Random random) {
    Map<String, Deque<V>> lanes = new TreeMap<>();
    all(part)
        .forEach(
            value -> lanes.computeIfAbsent(part.keyOf(value), id -> new ArrayDeque<>()).add(value));
    while (!lanes.isEmpty()) {
      List<String> ids = List.copyOf(lanes.keySet());
      String id = ids.get(random.nextInt(ids.size()));
      other.add(part, lanes.get(id).removeFirst());
      if (lanes.get(id).isEmpty()) {
        lanes.remove(id);
      }
    }
  }

  @Override
  public boolean has(TopicType<?> part) {
    return values.containsKey(part);
  }

  @Override
  public <V> void read(TopicType<V> part, Consumer<? super V> each) {
    int number = 0;
    for (V value : has(part) ? all(part) : List.<V>of()) {
      try {
        each.accept(value);
      } catch (IllegalArgumentException e) {
        throw new MalformedRecordException(LogRecords.NAMES.get(part) + " " + number, e);
      }
      number++;
    }
  }

  @Override
  public Map<String, ModelBundle> models() {
    return models;
  }
}
