package io.shardtide.cost.tensorflow;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.Optimizer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Coefficients of an optimizer's state in the backward pass: fitted where samples have several
 * optimizers, from a formula otherwise.
 *
 * <p>The formula: state of a shard in device memory is read and written by the kernel that reads
 * and writes its rows of weights, so that a byte of it costs what a byte of single-precision
 * weights of a touched row costs. Of a copy, whose gradient is set to 0, added to and read, and
 * whose weights are read and written, five times 4 bytes for each element, a byte of state is two
 * of these twenty. State in host memory crosses the link to the host in both directions at once, at
 * the bandwidth that TorchRec's planner takes ({@code HBM_TO_DDR_MEM_BW}, 32 GiB/s).
 */
final class StateTerms {
  private static final double HOST_MS_PER_BYTE = 1e3 / (32.0 * (1 << 30));

  private static final int ROWS = at("distinct_rows_times_columns");
  private static final int ROW_SECTORS = at("distinct_rows_times_sector_bytes");
  private static final int COPIES = at("elements_of_copies");

  /** Bytes of a weight. */
  private static final double WEIGHT = 4;

  /** Reading and writing, of all that is moved for an element of a copy. */
  private static final double OF_COPY = 2.0 / (5 * WEIGHT);

  /** Where state is, by its term. */
  private enum Place {
    DEVICE(at("state_bytes")),
    HOST(at("state_bytes_in_host_memory")),
    COPIES(at("state_bytes_of_copies"));

    private final int term;

    Place(int term) {
      this.term = term;
    }

    static Place of(SampledShard shard) {
      if (shard.replicated()) {
        return COPIES;
      }
      return shard.cacheShare().isPresent() && !shard.stateInDeviceMemory() ? HOST : DEVICE;
    }
  }

  private final Set<Place> fitted = EnumSet.noneOf(Place.class);
  private final List<Optimizer> optimizers;

  /** Decides by the shards of training samples what is fitted. */
  StateTerms(Collection<SampledShard> shards) {
    Map<Place, Set<Optimizer>> measured = new EnumMap<>(Place.class);
    Set<Optimizer> all = EnumSet.noneOf(Optimizer.class);
    for (SampledShard shard : shards) {
      all.add(shard.optimizer());
      measured
          .computeIfAbsent(Place.of(shard), place -> EnumSet.noneOf(Optimizer.class))
          .add(shard.optimizer());
    }
    measured.forEach(
        (place, some) -> {
          if (some.size() > 1) {
            fitted.add(place);
          }
        });
    optimizers = List.copyOf(all);
  }

  private static int at(String term) {
    return ComputeTerms.NAMES.indexOf(term);
  }

  /** Returns the optimizers of the samples. */
  List<Optimizer> optimizers() {
    return optimizers;
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
      terms[ROWS] += terms[Place.DEVICE.term] / WEIGHT;
      terms[ROW_SECTORS] += terms[Place.DEVICE.term];
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
      all.set(Place.DEVICE.term, all.get(ROWS) / WEIGHT + all.get(ROW_SECTORS));
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
