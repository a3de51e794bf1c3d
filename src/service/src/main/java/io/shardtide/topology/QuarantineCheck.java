package io.shardtide.topology;

import static io.shardtide.wire.TopicType.QUARANTINE;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.workload.Quarantine;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Names the keys in quarantine, for {@code doctor}. */
final class QuarantineCheck {
  private QuarantineCheck() {}

  /** Reads the log. */
  static CheckResult read(ServiceSettings settings) {
    Map<String, Quarantine> latest = new TreeMap<>();
    try (TopicReader reader =
        settings
            .endpoint()
            .reader()
            .handle(
                settings.endpoint().topics().of(QUARANTINE),
                StartPosition.BEGINNING,
                (position, writtenAt, quarantine) ->
                    latest.put(
                        KeyedStore.key(quarantine.topology(), quarantine.key()), quarantine))) {
      reader.open();
      reader.readToEnd();
    }
    List<Quarantine> held = latest.values().stream().filter(Quarantine::entered).toList();
    return held.isEmpty()
        ? CheckResult.ok("no key waits")
        : CheckResult.warning(
            held.stream()
                .map(
                    q ->
                        "\"%s\" of the %s topology: %s".formatted(q.key(), q.topology(), q.error()))
                .collect(Collectors.joining("; ")),
            "docs/RUNBOOK.md, A key is in quarantine");
  }
}
