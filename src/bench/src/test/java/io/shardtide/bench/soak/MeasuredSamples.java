package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.TRAINING_SAMPLES;

import io.shardtide.cost.CostSample;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Checks that each accepted measurement becomes samples at most once, and a rejected one none. */
final class MeasuredSamples {
  private MeasuredSamples() {}

  static void check(SoakLog log, InputRecords inputs, Findings findings) throws IOException {
    inputs
        .measurements()
        .forEach(
            (key, positions) -> {
              findings.checked(Guarantee.SAMPLES_ONCE);
              List<SourcePosition> accepted =
                  positions.stream().filter(p -> inputs.rejection(p).isEmpty()).toList();
              if (accepted.size() > 1) {
                findings.violated(
                    Guarantee.SAMPLES_ONCE,
                    key.split("\0", 2)[0],
                    accepted,
                    "one report of a measurement must be accepted, got %d"
                        .formatted(accepted.size()));
              }
            });
    Map<String, BitSet> seen = new HashMap<>();
    log.read(
        log.topics().of(TRAINING_SAMPLES),
        record -> {
          findings.checked(Guarantee.SAMPLES_ONCE);
          if (record instanceof CommittedRecord.Stored<CostSample> stored) {
            check(stored.position(), stored.value(), seen, inputs, findings);
          } else {
            findings.violated(
                Guarantee.SAMPLES_ONCE, "", List.of(record.position()), "cannot be decoded");
          }
        });
  }

  private static void check(
      SourcePosition position,
      CostSample sample,
      Map<String, BitSet> seen,
      InputRecords inputs,
      Findings findings) {
    String key = InputRecords.key(sample.workloadId(), sample.measurementId());
    int part =
        sample.cost() instanceof CostSample.Computation computation ? 1 + computation.device() : 0;
    BitSet parts = seen.computeIfAbsent(key, k -> new BitSet());
    if (parts.get(part)) {
      findings.violated(
          Guarantee.SAMPLES_ONCE,
          sample.workloadId(),
          List.of(position),
          "expected one sample of each part of measurement %s, got two of %s"
              .formatted(
                  sample.measurementId(),
                  part == 0 ? "its communication" : "device " + (part - 1)));
    }
    parts.set(part);
    boolean isAccepted =
        inputs.measurements().getOrDefault(key, List.of()).stream()
            .anyMatch(p -> inputs.rejection(p).isEmpty());
    if (!isAccepted) {
      findings.violated(
          Guarantee.SAMPLES_ONCE,
          sample.workloadId(),
          List.of(position),
          "expected an accepted measurement %s, got none".formatted(sample.measurementId()));
    }
  }
}
