package io.shardtide.bench.soak;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static io.shardtide.wire.TopicType.CURRENT_PREDICTIONS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;

import io.shardtide.cost.CostPredictions;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.PredictionKey;
import io.shardtide.workload.SourcePosition;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Compares the compacted topics with the last records of the complete ones. Keeps a hash of each
 * record: predictions of all tables would take gigabytes.
 */
final class CurrentRecords {
  private final SoakLog log;
  private final Findings findings;
  private final MessageDigest sha256;

  private CurrentRecords(SoakLog log, Findings findings) {
    this.log = log;
    this.findings = findings;
    try {
      sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }

  static void check(SoakLog log, PlanLog plans, Findings findings) throws IOException {
    CurrentRecords current = new CurrentRecords(log, findings);
    current.checkPlans(plans);
    current.checkPredictions();
  }

  private String hash(String text) {
    return HexFormat.of().formatHex(sha256.digest(text.getBytes(StandardCharsets.UTF_8)));
  }

  private void checkPlans(PlanLog plans) throws IOException {
    JsonLines<ShardingPlan, ?> json = new JsonLines<>(Codec.SHARDING_PLAN);
    Map<String, String> expected = new TreeMap<>();
    log.read(
        log.topics().of(SHARDING_PLANS),
        record -> {
          if (record instanceof CommittedRecord.Stored<ShardingPlan> stored
              && plans
                  .current(stored.value().workloadId())
                  .filter(plan -> plan.position().equals(stored.position()))
                  .isPresent()) {
            expected.put(stored.value().workloadId(), hash(json.write(stored.value())));
          }
        });
    Map<String, String> got = new TreeMap<>();
    Map<String, SourcePosition> positions = new TreeMap<>();
    log.read(
        log.topics().of(CURRENT_PLANS),
        record -> {
          if (record instanceof CommittedRecord.Stored<ShardingPlan> stored) {
            got.put(stored.value().workloadId(), hash(json.write(stored.value())));
            positions.put(stored.value().workloadId(), stored.position());
          } else {
            remove(Guarantee.CURRENT_PLANS, record, got, positions);
          }
        });
    compare(Guarantee.CURRENT_PLANS, expected, got, positions);
  }

  private void checkPredictions() throws IOException {
    JsonLines<CostPredictions, ?> json = new JsonLines<>(Codec.COST_PREDICTIONS);
    Map<String, String> expected = new TreeMap<>();
    log.read(
        log.topics().of(COST_PREDICTIONS),
        record -> {
          if (record instanceof CommittedRecord.Stored<CostPredictions> stored) {
            CostPredictions part = stored.value();
            String key = PredictionKey.of(part).text();
            if (part.isDeletion()
                || part.update().orElse(null) instanceof CostPredictions.Update.Dropped) {
              expected.remove(key);
            } else if (part.update().isPresent()) {
              expected.put(key, hash(json.write(part)));
            }
            if (part.isLast() && !part.isDeletion()) {
              expected.put(part.workloadId(), hash(json.write(part.withoutTable())));
            }
          }
        });
    Map<String, String> got = new TreeMap<>();
    Map<String, SourcePosition> positions = new TreeMap<>();
    log.read(
        log.topics().of(CURRENT_PREDICTIONS),
        record -> {
          if (record instanceof CommittedRecord.Stored<CostPredictions> stored) {
            String key = PredictionKey.of(stored.value()).text();
            got.put(key, hash(json.write(stored.value())));
            positions.put(key, stored.position());
          } else {
            remove(Guarantee.CURRENT_PREDICTIONS, record, got, positions);
          }
        });
    compare(Guarantee.CURRENT_PREDICTIONS, expected, got, positions);
  }

  private void remove(
      Guarantee guarantee,
      CommittedRecord<?> record,
      Map<String, String> got,
      Map<String, SourcePosition> positions) {
    if (record instanceof CommittedRecord.Tombstone<?> tombstone) {
      got.remove(tombstone.key());
      positions.put(tombstone.key(), tombstone.position());
    } else {
      findings.violated(guarantee, "", List.of(record.position()), "cannot be decoded");
    }
  }

  private void compare(
      Guarantee guarantee,
      Map<String, String> expected,
      Map<String, String> got,
      Map<String, SourcePosition> positions) {
    TreeSet<String> keys = new TreeSet<>(expected.keySet());
    keys.addAll(got.keySet());
    for (String text : keys) {
      findings.checked(guarantee);
      if (!Objects.equals(expected.get(text), got.get(text))) {
        PredictionKey key = PredictionKey.parse(text);
        findings.violated(
            guarantee,
            key.workloadId(),
            positions.containsKey(text) ? List.of(positions.get(text)) : List.of(),
            "%sexpected %s, got %s"
                .formatted(
                    key.table().map(table -> "table \"" + table + "\": ").orElse(""),
                    expected.containsKey(text) ? "the last record of the log" : "no record",
                    got.containsKey(text) ? "another record" : "no record"));
      }
    }
  }
}
