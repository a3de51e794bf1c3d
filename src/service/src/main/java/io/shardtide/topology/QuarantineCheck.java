package io.shardtide.topology;

import static io.shardtide.wire.TopicType.QUARANTINE;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Quarantine;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;

/** Names the keys in quarantine, for {@code doctor}. */
final class QuarantineCheck {
  private QuarantineCheck() {}

  /**
   * Reads the log.
   *
   * @param admin client; the caller closes it
   */
  static CheckResult run(Admin admin, Topics topics, ServiceSettings settings)
      throws InterruptedException, ExecutionException {
    if (!admin.listTopics().names().get().contains(topics.of(QUARANTINE).name())) {
      return CheckResult.ok("no planner of this version has started yet");
    }
    Map<String, Quarantine> latest = new TreeMap<>();
    try (TopicReader reader =
        settings
            .endpoint()
            .reader()
            .handle(
                topics.of(QUARANTINE),
                StartPosition.BEGINNING,
                (position, writtenAt, quarantine) ->
                    latest.put(
                        KeyedStore.key(quarantine.topology(), quarantine.key()), quarantine))) {
      reader.open();
      reader.readToEnd();
    } catch (RuntimeException e) {
      // Planners do not read it: a right that is missing stops none.
      return CheckResult.warning(
          "%s cannot be read: %s"
              .formatted(topics.of(QUARANTINE).name(), AuthorizationErrors.describe(e, settings)),
          "grant what ./shardtide acls --role dashboard prints");
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
            "docs/OPERATING.md, A key is in quarantine");
  }
}
