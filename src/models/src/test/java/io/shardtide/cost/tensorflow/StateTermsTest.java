package io.shardtide.cost.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.ComputeTerms;
import io.shardtide.cost.DeviceShard;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class StateTermsTest {
  private static DeviceShard shard(Optimizer optimizer) {
    return shard(optimizer, false, OptionalDouble.empty(), false);
  }

  private static DeviceShard copy(Optimizer optimizer) {
    return shard(optimizer, true, OptionalDouble.empty(), false);
  }

  private static DeviceShard cached(Optimizer optimizer, boolean inDevice) {
    return shard(optimizer, false, OptionalDouble.of(0.5), inDevice);
  }

  private static DeviceShard shard(
      Optimizer optimizer, boolean isCopy, OptionalDouble cacheShare, boolean inDevice) {
    TableSpec table =
        TableSpecBuilder.builder(Fixtures.table("t", 100, 64, 1))
            .optimizer(Optional.of(optimizer))
            .enforceHbm(inDevice)
            .build();
    return new DeviceShard(table, 512, 1, isCopy, cacheShare, 512);
  }

  private static int at(String term) {
    return ComputeTerms.NAMES.indexOf(term);
  }

  /** Returns the terms of 100 rows of 40 bytes that have as much state, wherever it is. */
  private static double[] terms(String place) {
    double[] terms = new double[ComputeTerms.NAMES.size()];
    terms[at("distinct_rows_times_columns")] = 1_000;
    terms[at("distinct_rows_times_sector_bytes")] = 6_400;
    terms[at(place)] = 4_000;
    return terms;
  }

  private static List<Double> fitted() {
    List<Double> fitted = new ArrayList<>(Collections.nCopies(ComputeTerms.NAMES.size(), 0.0));
    fitted.set(at("distinct_rows_times_columns"), 4e-9);
    fitted.set(at("distinct_rows_times_sector_bytes"), 2e-9);
    fitted.set(at("elements_of_copies"), 5e-9);
    return fitted;
  }

  @Test
  void state_of_one_optimizer_costs_a_multiple_of_weights_of_touched_rows() {
    StateTerms state = new StateTerms(List.of(shard(Optimizer.ADAM), copy(Optimizer.ADAM)));
    assertThat(state.optimizers).containsExactly(Optimizer.ADAM);
    List<Double> all = state.complete(fitted());
    assertThat(all.get(at("state_bytes"))).isCloseTo(1.7 * 3e-9, within(1e-20));
    assertThat(all.get(at("state_bytes_of_copies"))).isCloseTo(0.18 * 5e-9, within(1e-20));
    assertThat(all.get(at("state_bytes_in_host_memory")))
        .as("32 GiB/s")
        .isCloseTo(1 / (32.0 * (1 << 30)) * 1e3, within(1e-16));
    // What the terms of a shard cost is the same, whether its state is told apart or counted.
    for (String place : List.of("state_bytes", "state_bytes_of_copies")) {
      double[] counted = terms(place);
      state.prepare(counted);
      assertThat(counted[at(place)]).isZero();
      assertThat(NonNegativeLeastSquares.weightedSum(all, counted))
          .isCloseTo(NonNegativeLeastSquares.weightedSum(all, terms(place)), within(1e-15));
    }
  }

  @Test
  void state_of_several_optimizers_is_fitted_where_they_were_measured() {
    StateTerms state =
        new StateTerms(
            List.of(
                shard(Optimizer.SGD),
                shard(Optimizer.ADAM),
                copy(Optimizer.SGD),
                cached(Optimizer.SGD, true)));
    assertThat(state.optimizers).containsExactly(Optimizer.SGD, Optimizer.ADAM);
    double[] terms = terms("state_bytes");
    state.prepare(terms);
    assertThat(terms).containsExactly(terms("state_bytes"));
    double[] ofCopies = terms("state_bytes_of_copies");
    state.prepare(ofCopies);
    assertThat(ofCopies[at("elements_of_copies")]).as("one optimizer").isEqualTo(0.18 * 4_000);
    List<Double> fitted = fitted();
    fitted.set(at("state_bytes"), 7e-9);
    assertThat(state.complete(fitted).get(at("state_bytes"))).isEqualTo(7e-9);
    StateTerms ofCaches =
        new StateTerms(List.of(cached(Optimizer.SGD, false), cached(Optimizer.LAMB, false)));
    fitted.set(at("state_bytes_in_host_memory"), 8e-8);
    assertThat(ofCaches.complete(fitted).get(at("state_bytes_in_host_memory"))).isEqualTo(8e-8);
  }

  @Test
  void a_forward_pass_touches_no_state() {
    double[] terms = terms("state_bytes");
    StateTerms.remove(terms);
    assertThat(terms[at("state_bytes")]).isZero();
    assertThat(terms[at("distinct_rows_times_columns")]).isEqualTo(1_000);
  }
}
