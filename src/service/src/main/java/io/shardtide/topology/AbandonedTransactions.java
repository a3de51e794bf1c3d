package io.shardtide.topology;

import io.shardtide.config.ServiceSettings;
import io.shardtide.log.DaemonThreads;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.streams.KafkaStreams;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the open transactions of stream threads that are no longer members of their group, while a
 * topology waits for its partitions. Without it, the next owner of the partitions of a killed
 * instance waits until the broker times the transaction out, up to 60 s; see RATIONALE.md.
 */
final class AbandonedTransactions implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(AbandonedTransactions.class);

  private static final long PERIOD_MS = 500;

  /** How Kafka Streams names a process: a random UUID in its state directory. */
  private static final String PROCESS = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

  private final ServiceSettings settings;
  private final IntConsumer fenced;
  private final Map<String, Supplier<KafkaStreams.State>> topologies = new ConcurrentHashMap<>();
  private final Thread watcher =
      DaemonThreads.named("abandoned-transactions").newThread(this::watchRepeatedly);

  /**
   * @param settings settings of the planner
   * @param fenced receives how many transactions were ended
   */
  AbandonedTransactions(ServiceSettings settings, IntConsumer fenced) {
    this.settings = settings;
    this.fenced = fenced;
  }

  /** Adds a topology, by its Kafka Streams application id. */
  void watch(String applicationId, Supplier<KafkaStreams.State> state) {
    topologies.put(applicationId, state);
  }

  /** Begins to watch. */
  void start() {
    watcher.start();
  }

  private void watchRepeatedly() {
    try {
      while (true) {
        TimeUnit.MILLISECONDS.sleep(PERIOD_MS);
        List<String> waiting =
            topologies.entrySet().stream()
                .filter(t -> t.getValue().get() == KafkaStreams.State.REBALANCING)
                .map(Map.Entry::getKey)
                .sorted()
                .toList();
        if (!waiting.isEmpty()) {
          try (Admin admin = KafkaAnswers.admin(settings)) {
            for (String applicationId : waiting) {
              end(admin, applicationId);
            }
          } catch (ExecutionException | RuntimeException e) {
            // The broker's timeout ends them, too.
            log.debug("Abandoned transactions cannot be ended: {}", Retry.describe(e));
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends the abandoned transactions of a topology. */
  private void end(Admin admin, String applicationId)
      throws InterruptedException, ExecutionException {
    // First the transactions, then the members: a thread joins before it begins a transaction.
    List<String> open =
        admin
            .listTransactions(
                new ListTransactionsOptions().filterStates(List.of(TransactionState.ONGOING)))
            .all()
            .get()
            .stream()
            .map(TransactionListing::transactionalId)
            .filter(id -> id.startsWith(applicationId + "-"))
            .toList();
    if (open.isEmpty()) {
      return;
    }
    List<String> members =
        admin.describeConsumerGroups(List.of(applicationId)).all().get().values().stream()
            .flatMap(group -> group.members().stream())
            .map(MemberDescription::clientId)
            .toList();
    List<String> abandoned = abandoned(applicationId, open, members);
    if (!abandoned.isEmpty()) {
      admin.fenceProducers(abandoned).all().get();
      fenced.accept(abandoned.size());
      log.info("Ended the transactions of stopped instances: {}", abandoned);
    }
  }

  /**
   * Returns the transactions whose stream threads are no members of the group. With {@code
   * client.id} in the settings members cannot be told apart, and none is returned.
   *
   * @param applicationId the Kafka Streams application id
   * @param open transactional ids with an open transaction
   * @param members client ids of the group's members
   */
  static List<String> abandoned(
      String applicationId, Collection<String> open, Collection<String> members) {
    String process = "(" + Pattern.quote(applicationId) + "-" + PROCESS + ")-";
    if (!members.stream().allMatch(id -> id.matches(process + "StreamThread-\\d+-consumer"))) {
      return List.of();
    }
    String ours = process + "(\\d+)";
    return open.stream()
        .filter(id -> id.matches(ours))
        .filter(id -> !members.contains(id.replaceFirst(ours, "$1-StreamThread-$2-consumer")))
        .sorted()
        .toList();
  }

  @Override
  public void close() {
    watcher.interrupt();
  }
}
