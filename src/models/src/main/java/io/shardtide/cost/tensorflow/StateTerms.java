package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.DeviceShard;
import io.shardtide.workload.Optimizer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Coefficients of an optimizer's state in the backward pass: fitted where samples have several
 * optimizers, from a formula otherwise.
 *
 * <p>The formula: state of a shard in device memory is read and written by the kernel that reads
 * and writes its rows of weights, so that a byte of it costs a multiple of what a byte of
 * single-precision weights of a touched row costs. The multiple is 1.7, and of a copy a byte of
 * state costs 0.18 of an element. Both are what was fitted to samples of six optimizers on an H200,
 * relative to what was fitted to its samples of row-wise Adagrad alone. Rows of weights were read
 * by the forward pass before, those of state were not. State in host memory crosses the link to the
 * host in both directions at once, at the bandwidth that TorchRec's planner takes ({@code
 * HBM_TO_DDR_MEM_BW}, 32 GiB/s); an H200 had 29.5 GiB/s.
 */
final class StateTerms {
  private static final double HOST_MS_PER_BYTE = 1e3 / (32.0 * (1 << 30));

  private static final int ROWS = at("distinct_rows_times_columns");
  private static final int ROW_SECTORS = at("distinct_rows_times_sector_bytes");
  private static final int COPIES = at("elements_of_copies");

  /** Bytes of a weight. */
  private static final double WEIGHT = 4;

  /** What a byte of state costs, relative to a byte of weights of a touched row. */
  private static final double OF_ROWS = 1.7;

  /** What a byte of state of a copy costs, relative to an element of a copy. */
  private static final double OF_COPY = 0.18;

  /** Where state is, by its term. */
  private enum Place {
    DEVICE(at("state_bytes")),
    HOST(at("state_bytes_in_host_memory")),
    COPIES(at("state_bytes_of_copies"));

    private final int term;

    Place(int term) {
      this.term = term;
    }

    static Place of(DeviceShard shard) {
      if (shard.replicated()) {
        return COPIES;
      }
      return shard.isStateInHostMemory() ? HOST : DEVICE;
    }
  }

  private final Set<Place> fitted = EnumSet.noneOf(Place.class);

  /** The optimizers of the samples. */
  final List<Optimizer> optimizers;

  /** Decides by the shards of training samples what is fitted. */
  StateTerms(Collection<DeviceShard> shards) {
    optimizers = shards.stream().map(DeviceShard::optimizer).distinct().sorted().toList();
    for (Place place : Place.values()) {
      long measured =
          shards.stream()
              .filter(shard -> Place.of(shard) == place)
              .map(DeviceShard::optimizer)
              .distinct()
              .count();
      if (measured > 1) {
        fitted.add(place);
      }
    }
  }

  private static int at(String term) {
    return ComputeTerms.NAMES.indexOf(term);
  }

  /** Removes state from the terms of a shard: it takes no part in a forward pass. */
  static void remove(double[] terms) {
    for (Place place : Place.values()) {
      terms[place.term] = 0;
    }
  }

  /** Counts state that is not fitted as what it costs by the formula, in the terms of a shard. */
  void prepare(double[] terms) {
    if (!fitted.contains(Place.DEVICE)) {
      terms[ROWS] += OF_ROWS * terms[Place.DEVICE.term] / WEIGHT;
      terms[ROW_SECTORS] += OF_ROWS * terms[Place.DEVICE.term];
      terms[Place.DEVICE.term] = 0;
    }
    if (!fitted.contains(Place.COPIES)) {
      terms[COPIES] += OF_COPY * terms[Place.COPIES.term];
      terms[Place.COPIES.term] = 0;
    }
    if (!fitted.contains(Place.HOST)) {
      terms[Place.HOST.term] = 0;
    }
  }

  /** Returns coefficients with those of state that is not fitted. */
  List<Double> complete(List<Double> coefficients) {
    List<Double> all = new ArrayList<>(coefficients);
    if (!fitted.contains(Place.DEVICE)) {
      all.set(Place.DEVICE.term, OF_ROWS * (all.get(ROWS) / WEIGHT + all.get(ROW_SECTORS)));
    }
    if (!fitted.contains(Place.COPIES)) {
      all.set(Place.COPIES.term, OF_COPY * all.get(COPIES));
    }
    if (!fitted.contains(Place.HOST)) {
      all.set(Place.HOST.term, HOST_MS_PER_BYTE);
    }
    return all;
  }
}
