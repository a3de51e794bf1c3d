package io.shardtide.topology;

import java.util.List;

/**
 * The cluster's topics would lose records or break their order, or a limit of the brokers would
 * refuse what the planner asks for, so that the start is refused.
 */
public final class TopicMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<TopicDifference> differences;

  TopicMismatchException(List<TopicDifference> differences) {
    super(
        "The cluster would lose, refuse or misorder records; nothing was started:%n%s"
            .formatted(
                TopicCheck.describe(
                    differences.stream().filter(TopicDifference::refused).toList())));
    this.differences = List.copyOf(differences);
  }

  /** Returns all differences, harmless ones included. */
  public List<TopicDifference> differences() {
    return differences;
  }
}
