package io.shardtide.torchrec;

import java.util.List;

/**
 * {@code DistributedModelParallel.reshard} does not support a change of plans. The trainer has to
 * save a checkpoint and restart with the new plan.
 */
public final class NotReshardableException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> problems;

  NotReshardableException(List<String> problems) {
    super(String.join("; ", problems));
    this.problems = List.copyOf(problems);
  }

  /** Returns the reasons, one sentence each. */
  public List<String> problems() {
    return problems;
  }
}
