package io.shardtide.testing;

import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.MeasuredDevice;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Measurements of {@link Machine} as records of the log. */
public final class MeasuredMachine {
  private MeasuredMachine() {}

  /** Returns, for each plan, the computation of each device and the all-to-all. */
  public static List<CostSample> samples(
      SampleSet set, String run, String source, double computeFactor) {
    List<CostSample> samples = new ArrayList<>();
    List<CommunicationSample> allToAlls = set.communication().get(4);
    for (int p = 0; p < allToAlls.size(); p++) {
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
                    sample.shards().stream()
                        .map(s -> set.tables().get(s.table()).withColumns(s.width()))
                        .toList(),
                    sample.computeMs() * computeFactor,
                    1)));
        CommunicationSample allToAll = allToAlls.get(p);
        devices.add(
            new MeasuredDevice(
                100 + allToAll.startMs()[d] - allToAll.backwardMs()[d],
                allToAll.forwardMs()[d],
                allToAll.backwardMs()[d]));
      }
      samples.add(
          sample(
              run + p,
              run + p,
              source,
              new CostSample.AllToAll(
                  Arrays.stream(allToAlls.get(p).columns()).boxed().toList(), devices, devices)));
    }
    return samples;
  }

  /** Returns one cost of a measurement. */
  public static CostSample sample(
      String measurement, String plan, String source, CostSample.Cost cost) {
    return CostSampleBuilder.builder()
        .measurementId(measurement)
        .hardware(Fixtures.bundle().hardware())
        .workloadId(Fixtures.WORKLOAD)
        .planId(plan)
        .modelId(Fixtures.bundle().modelId())
        .source(source)
        .batchSize(Machine.BATCH)
        .steps(10)
        .measuredAt(Fixtures.TIME)
        .cost(cost)
        .build();
  }
}
