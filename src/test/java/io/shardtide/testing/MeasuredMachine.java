package io.shardtide.testing;

import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.CostSampleBuilder;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.MeasuredDevice;
import java.util.ArrayList;
import java.util.List;

/** What {@link Machine} measures, as the records of the log. */
public final class MeasuredMachine {
  private MeasuredMachine() {}

  /** Each plan's devices and its exchange, reported by trainers in turn. */
  public static List<CostSample> samples(
      SampleSet set, String run, String source, double computeFactor) {
    List<CostSample> samples = new ArrayList<>();
    List<CommunicationSample> exchanges = set.communication().get(4);
    for (int p = 0; p < exchanges.size(); p++) {
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
        CommunicationSample exchange = exchanges.get(p);
        devices.add(
            new MeasuredDevice(
                100 + exchange.startMs()[d] - exchange.backwardMs()[d],
                exchange.forwardMs()[d],
                exchange.backwardMs()[d]));
      }
      samples.add(
          sample(
              run + p,
              run + p,
              source,
              new CostSample.AllToAll(
                  java.util.Arrays.stream(exchanges.get(p).columns()).boxed().toList(),
                  devices,
                  devices)));
    }
    return samples;
  }

  /** A measurement of a plan, measured by a source. */
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
