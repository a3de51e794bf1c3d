package io.shardtide.log;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;

/**
 * Where partitions begin and end, also while a broker that led some of them is away. Kafka's admin
 * client remembers who leads a partition, and when that broker is gone it waits for it, up to a
 * minute, instead of asking for the next leader. A client that got no answer in time is replaced
 * here by a new one, which has no leaders in its cache. Thread-safe.
 */
public final class EndOffsets implements AutoCloseable {
  /** For the first attempt; each further one waits twice as long. */
  private static final int TIMEOUT_MS = 1_500;

  /**
   * Together they wait for 22 s: by default, the controllers take a broker for alive for 9 s
   * ({@code broker.session.timeout.ms}).
   */
  private static final int ATTEMPTS = 4;

  private final Map<String, Object> config;
  private Admin admin;
  private boolean isClosed;

  /**
   * Connects when it is asked first.
   *
   * @param config settings of Kafka's admin client
   */
  public EndOffsets(Map<String, Object> config) {
    this.config = new HashMap<>(config);
    // Two clients of one name would share their metrics.
    this.config.computeIfPresent(AdminClientConfig.CLIENT_ID_CONFIG, (name, id) -> id + "-offsets");
  }

  /**
   * Returns an offset of each partition.
   *
   * @param asked which one, such as the latest
   * @param options isolation level; the timeout is ignored
   * @throws TimeoutException if the cluster does not answer
   * @throws TopicAuthorizationException with the topics, if the user may not describe them
   * @throws KafkaException if it refuses otherwise, or after {@link #close}, which does not wait
   *     for an answer
   */
  public Map<TopicPartition, ListOffsetsResultInfo> list(
      Map<TopicPartition, OffsetSpec> asked, ListOffsetsOptions options) {
    for (int attempt = 0; ; attempt++) {
      Admin asking = client();
      ListOffsetsResult answers =
          asking.listOffsets(asked, options.timeoutMs(TIMEOUT_MS << attempt));
      try {
        return answers.all().get();
      } catch (ExecutionException e) {
        if (e.getCause() instanceof TopicAuthorizationException) {
          throw new TopicAuthorizationException(refused(answers, asked.keySet()));
        }
        if (!(e.getCause() instanceof TimeoutException) || attempt + 1 == ATTEMPTS) {
          throw e.getCause() instanceof KafkaException refused
              ? refused
              : new KafkaException("Offsets cannot be listed: " + e.getCause(), e);
        }
        replace(asking);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new KafkaException("Interrupted while listing offsets", e);
      }
    }
  }

  /**
   * Returns the offsets that a group committed; null for a partition without one.
   *
   * @param timeoutMs how long to wait for the answer
   */
  public Map<TopicPartition, OffsetAndMetadata> committed(String group, int timeoutMs) {
    return client()
        .listConsumerGroupOffsets(group, new ListConsumerGroupOffsetsOptions().timeoutMs(timeoutMs))
        .partitionsToOffsetAndMetadata()
        .toCompletionStage()
        .toCompletableFuture()
        .join();
  }

  /** Returns the topics that are refused, which Kafka's errors do not always name. */
  @SuppressWarnings("FutureReturnValueIgnored") // The callback receives failures.
  private static Set<String> refused(ListOffsetsResult answers, Set<TopicPartition> asked) {
    Set<String> topics = new TreeSet<>();
    for (TopicPartition partition : asked) {
      answers
          .partitionResult(partition)
          .whenComplete(
              (offset, error) -> {
                if (error instanceof TopicAuthorizationException) {
                  topics.add(partition.topic());
                }
              });
    }
    return topics;
  }

  private synchronized Admin client() {
    if (isClosed) {
      throw new KafkaException("The client that lists offsets is closed");
    }
    if (admin == null) {
      admin = Admin.create(config);
    }
    return admin;
  }

  private synchronized void replace(Admin unanswered) {
    if (admin == unanswered) {
      admin.close(Duration.ZERO);
      admin = null;
    }
  }

  @Override
  public synchronized void close() {
    isClosed = true;
    if (admin != null) {
      replace(admin);
    }
  }
}
