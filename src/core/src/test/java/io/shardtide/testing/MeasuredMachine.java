package io.shardtide.testing;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.SampleSet;
import io.shardtide.plan.MeasuredDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;

/** Measurements of {@link Machine} as records of the log. */
public final class MeasuredMachine {
  private MeasuredMachine() {}

  /** When each device begins the forward all-to-all, after the one before it. */
  private static final double START_MS = 0.75;

  /** Returns, for each plan, the computation of each device and the all-to-all. */
  public static List<CostSample> samples(
      SampleSet set, String run, String source, double computeFactor) {
    List<CostSample> samples = new ArrayList<>();
    List<CollectiveSample> allToAlls = set.collectives();
    for (int p = 0; p < allToAlls.size() / 2; p++) {
      CollectiveSample forward = allToAlls.get(2 * p);
      CollectiveSample backward = allToAlls.get(2 * p + 1);
      List<MeasuredDevice> devices = new ArrayList<>();
      for (int d = 0; d < 4; d++) {
        var sample = set.compute().get(4 * p + d);
        samples.add(
            sample(
                run + p,
                run + p,
                source,
                new CostSample.Computation(
                    d,
                    sample.shards(),
                    sample.computeMs() * computeFactor,
                    OptionalDouble.empty(),
                    1)));
        // The last device begins at 3 times as much; the others are idle until then.
        devices.add(
            new MeasuredDevice(
                100 + d * START_MS - backward.ms()[d],
                (3 - d) * START_MS + forward.ms()[d],
                backward.ms()[d]));
      }
      samples.add(
          sample(
              run + p,
              run + p,
              source,
              new CostSample.StepCommunication(
                  Arrays.stream(forward.bytes())
                      .mapToObj(bytes -> (int) (bytes / Machine.BATCH))
                      .toList(),
                  4,
                  4,
                  4,
                  devices,
                  devices,
                  List.of(),
                  List.of(),
                  List.of(),
                  true)));
    }
    return samples;
  }

  /** Returns one cost of a measurement. */
  public static CostSample sample(
      String measurement, String plan, String source, CostSample.Cost cost) {
    return CostSampleBuilder.builder()
        .measurementId(measurement)
        .hardware(Fixtures.HARDWARE)
        .workloadId(Fixtures.WORKLOAD)
        .planId(plan)
        .modelId(TestModels.bundle().modelId())
        .source(source)
        .batchSize(Machine.BATCH)
        .steps(10)
        .measuredAt(Fixtures.TIME)
        .cost(cost)
        .build();
  }
}
