package io.shardtide.cost;

import java.util.Collections;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Where a model comes from, for people.
 *
 * @param description what was measured and on what; says "simulated" where a simulator gave the
 *     numbers
 * @param simulated whether the costs come from a simulator
 * @param seed seed of the training
 * @param computeSamples compute samples that were trained on
 * @param communicationSamples communication samples that were trained on, by number of devices
 * @param errors errors on samples held back from training, as fractions, by name
 */
public record ModelCard(
    String description,
    boolean simulated,
    long seed,
    int computeSamples,
    SortedMap<Integer, Integer> communicationSamples,
    SortedMap<String, Double> errors) {
  /** Copies what may change. */
  public ModelCard {
    Objects.requireNonNull(description, "description");
    communicationSamples = Collections.unmodifiableSortedMap(new TreeMap<>(communicationSamples));
    errors = Collections.unmodifiableSortedMap(new TreeMap<>(errors));
  }
}
