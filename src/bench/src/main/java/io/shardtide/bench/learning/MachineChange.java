package io.shardtide.bench.learning;

import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.ShardShape;
import io.shardtide.workload.Collective;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** A change of a simulated machine: factors of the costs of some shards or collectives. */
public enum MachineChange {
  /** Nothing changes. */
  NONE("nothing"),
  /** Shards of tables with more than 8 lookups for each output become 1.8 times as slow. */
  LOOKUPS("more than 8 lookups, 1.8 times"),
  /** Shards of at least 96 columns become 1.6 times as slow. */
  WIDE("96 columns and more, 1.6 times"),
  /** Shards with a cache become 1.7 times as slow. */
  CACHED("cached shards, 1.7 times"),
  /** What collectives send between nodes takes 1.8 times as long. */
  NODES("between nodes, 1.8 times"),
  /** One size class of kernels, 33 to 64 columns, becomes 1.6 times as slow. */
  KERNEL("33 to 64 columns, 1.6 times"),
  /** Other hardware: each kind of shard and each collective costs 0.5 to 2 times as much. */
  HARDWARE("other hardware, 0.5 to 2 times");

  private final String shown;

  MachineChange(String shown) {
    this.shown = shown;
  }

  /** Returns what changes, for display. */
  public String shown() {
    return shown;
  }

  /** Returns whether the planner has no model of the hardware, and begins with another one's. */
  public boolean isColdStart() {
    return this == HARDWARE;
  }

  /** Returns the factor of a shard's cost. */
  double factor(ShardShape shape) {
    return switch (this) {
      case LOOKUPS -> shape.tableLookupsPerOutput() > 8 ? 1.8 : 1;
      case WIDE -> shape.columns() >= 96 ? 1.6 : 1;
      case CACHED -> shape.cacheShare().isPresent() ? 1.7 : 1;
      case KERNEL -> shape.columns() > 32 && shape.columns() <= 64 ? 1.6 : 1;
      case HARDWARE ->
          (shape.replicated() ? 0.6 : 1)
              * (shape.tableLookupsPerOutput() > 4 ? 1.9 : 0.8)
              * (shape.columns() > 64 ? 0.7 : 1);
      case NONE, NODES -> 1;
    };
  }

  /** Returns what predicts a collective after the change. */
  CollectiveNet apply(CollectiveNet net) {
    return switch (this) {
      case NODES -> scaled(net, term -> term.contains("nodes") ? 1.8 : 1);
      case HARDWARE -> scaled(net, term -> factor(net.collective()));
      default -> net;
    };
  }

  private static double factor(Collective collective) {
    return switch (collective) {
      case ALL_TO_ALL -> 1.9;
      case REDUCE_SCATTER -> 0.7;
      case ALL_GATHER -> 1.3;
      case ALL_REDUCE -> 0.5;
    };
  }

  private static CollectiveNet scaled(CollectiveNet net, ToDoubleFunction<String> factors) {
    List<String> terms = CollectiveInputs.terms(net.collective());
    List<Double> coefficients = new ArrayList<>();
    for (int i = 0; i < terms.size(); i++) {
      coefficients.add(net.coefficients().get(i) * factors.applyAsDouble(terms.get(i)));
    }
    return new CollectiveNet(
        net.collective(), net.direction(), net.features(), coefficients, net.layers());
  }
}
