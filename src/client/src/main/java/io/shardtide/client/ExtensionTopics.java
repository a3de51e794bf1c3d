package io.shardtide.client;

import io.shardtide.log.MissingTopicException;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.Extension;

/** The topics of optional parts of the planner, which it creates only if its settings say so. */
final class ExtensionTopics {
  private ExtensionTopics() {}

  /**
   * Opens a reader of topics of an extension.
   *
   * @throws MissingTopicException if one is missing; the message says which setting creates it
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  static void open(TopicReader reader, Extension extension) {
    try {
      reader.open();
    } catch (MissingTopicException e) {
      throw e.withAdvice(
          "Set %s.enabled=true for the planner, or use its topic prefix".formatted(extension));
    }
  }
}
