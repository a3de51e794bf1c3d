package io.shardtide.cli;

import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.TableKernel;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Describes what publishers decided about kernels of tables, for people. */
final class KernelTexts {
  /** Tables that a text names. */
  private static final int MAX_NAMED = 5;

  private KernelTexts() {}

  /** Returns the tables of a plan of which something is decided, and what; empty without any. */
  static String describe(ShardingPlan plan) {
    int others = plan.kernels().size() - MAX_NAMED;
    return plan.kernels().stream()
            .limit(MAX_NAMED)
            .map(KernelTexts::describe)
            .collect(Collectors.joining("; "))
        + (others > 0 ? "; and %d more tables".formatted(others) : "");
  }

  private static String describe(PlannedKernel planned) {
    TableKernel kernel = planned.kernel();
    List<String> parts = new ArrayList<>();
    kernel.computeKernel().map(ComputeKernel::label).ifPresent(parts::add);
    kernel.cacheAlgorithm().ifPresent(algorithm -> parts.add("cache " + algorithm));
    if (planned.enforceHbm()) {
      parts.add("state in device memory");
    }
    kernel.outputType().ifPresent(type -> parts.add("outputs " + type));
    kernel
        .stochasticRounding()
        .ifPresent(is -> parts.add(is ? "stochastic rounding" : "no stochastic rounding"));
    if (parts.isEmpty()) {
      // Nothing else is left to decide.
      parts.add("cache of a fixed size");
    }
    return Printable.of(planned.table()) + " " + String.join(", ", parts);
  }
}
