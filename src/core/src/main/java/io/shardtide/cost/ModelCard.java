package io.shardtide.cost;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Origin of a model, for people.
 *
 * @param description what was measured on which hardware; "simulated" if a simulator gave the
 *     numbers
 * @param simulated whether the costs come from a simulator
 * @param seed seed of the training
 * @param computeSamples compute samples: 90% for training, 5% for validation, 5% for the test
 * @param collectiveSamples samples of collectives, split likewise, by what they measure: {@code
 *     all_to_all}, {@code all_to_all.forward} ..
 * @param sources where the samples come from: a folder or a topic each, or a data sheet's figures
 * @param heldOutTables names of tables that were held out of training; empty by default
 * @param errors errors by split (train, validation, test, unseen) and name, as fractions:
 *     test.compute.mape
 * @param beganAs the model of other hardware that this one began as; {@code computeSamples} is 0
 *     until measurements of its own hardware changed it. Empty for all others
 */
public record ModelCard(
    String description,
    boolean simulated,
    long seed,
    int computeSamples,
    SortedMap<String, Integer> collectiveSamples,
    List<String> sources,
    SortedSet<String> heldOutTables,
    SortedMap<String, Double> errors,
    Optional<ModelOrigin> beganAs) {
  /** Copies what may change. */
  public ModelCard {
    collectiveSamples = Collections.unmodifiableSortedMap(new TreeMap<>(collectiveSamples));
    sources = List.copyOf(sources);
    heldOutTables = Collections.unmodifiableSortedSet(new TreeSet<>(heldOutTables));
    errors = Collections.unmodifiableSortedMap(new TreeMap<>(errors));
  }
}
