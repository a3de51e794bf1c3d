package io.shardtide.testing;

import io.shardtide.cost.VersionedPrediction;
import io.shardtide.step.KeyValues;
import io.shardtide.step.MemoryKeyValues;
import io.shardtide.step.PlanningTables;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/** Gives tables back in an order of its own, which no plan may depend on. */
public final class ShuffledTables {
  private ShuffledTables() {}

  /**
   * @param seed of the order
   */
  @SuppressWarnings("unchecked")
  public static PlanningTables planning(long seed) {
    Random order = new Random(seed);
    KeyValues<VersionedPrediction> tables = new MemoryKeyValues<>();
    return new PlanningTables(
        new MemoryKeyValues<>(),
        (KeyValues<VersionedPrediction>)
            Proxy.newProxyInstance(
                KeyValues.class.getClassLoader(),
                new Class<?>[] {KeyValues.class},
                (proxy, method, arguments) -> {
                  Object result = method.invoke(tables, arguments);
                  return method.getName().equals("range")
                      ? shuffled((SortedMap<String, VersionedPrediction>) result, order)
                      : result;
                }),
        new MemoryKeyValues<>());
  }

  private static SortedMap<String, VersionedPrediction> shuffled(
      SortedMap<String, VersionedPrediction> tables, Random order) {
    List<String> names = new ArrayList<>(tables.keySet());
    Collections.shuffle(names, order);
    Map<String, Integer> places = new HashMap<>();
    names.forEach(name -> places.put(name, places.size()));
    SortedMap<String, VersionedPrediction> shuffled =
        new TreeMap<>(Comparator.comparingInt(places::get));
    shuffled.putAll(tables);
    return shuffled;
  }
}
