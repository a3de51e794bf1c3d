package io.shardtide.client;

import io.shardtide.log.MissingTopicException;
import io.shardtide.log.TopicReader;

/** The topics of pools, which a planner creates only if its settings say so. */
final class PoolTopics {
  private PoolTopics() {}

  /**
   * Opens a reader of them.
   *
   * @throws MissingTopicException if one is missing; the message says which setting creates it
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  static void open(TopicReader reader) {
    try {
      reader.open();
    } catch (MissingTopicException e) {
      throw e.withAdvice("Set pools.enabled=true for the planner, or use its topic prefix");
    }
  }
}
