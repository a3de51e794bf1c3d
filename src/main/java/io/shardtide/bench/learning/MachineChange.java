package io.shardtide.bench.learning;

import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.ShardShape;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** A change of a simulated machine: factors of the costs of some shards or collectives. */
public enum MachineChange {
  /** Nothing changes. */
  NONE,
  /** Shards with more than 8 lookups for each output become 1.8 times as slow. */
  LOOKUPS,
  /** Shards of at least 96 columns become 1.6 times as slow. */
  WIDE,
  /** Shards with a cache become 1.7 times as slow. */
  CACHED,
  /** What collectives send between nodes takes 1.8 times as long. */
  NODES,
  /** One size class of kernels, 33 to 64 columns, becomes 1.6 times as slow. */
  KERNEL;

  /** Returns the factor of a shard's cost. */
  double factor(ShardShape shape) {
    return switch (this) {
      case LOOKUPS -> shape.lookups() > 8 * shape.outputs() ? 1.8 : 1;
      case WIDE -> shape.columns() >= 96 ? 1.6 : 1;
      case CACHED -> shape.cacheShare().isPresent() ? 1.7 : 1;
      case KERNEL -> shape.columns() > 32 && shape.columns() <= 64 ? 1.6 : 1;
      case NONE, NODES -> 1;
    };
  }

  /** Returns what predicts a collective after the change. */
  CollectiveNet apply(CollectiveNet net) {
    return this == NODES ? scaled(net, term -> term.contains("nodes") ? 1.8 : 1) : net;
  }

  /** Returns a collective whose terms cost some factors as much. */
  static CollectiveNet scaled(CollectiveNet net, ToDoubleFunction<String> factors) {
    List<String> terms = CollectiveInputs.terms(net.collective());
    List<Double> coefficients = new ArrayList<>();
    for (int i = 0; i < terms.size(); i++) {
      coefficients.add(net.coefficients().get(i) * factors.applyAsDouble(terms.get(i)));
    }
    return new CollectiveNet(
        net.collective(), net.direction(), net.features(), coefficients, net.layers());
  }
}
