package io.shardtide.workload;

import java.util.Objects;

/** An invalid input: a code for programs, and a sentence with the value and what is expected. */
public final class RejectedException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final RejectionReason reason;

  /**
   * @param reason the code
   * @param message what is wrong, the value, and what is expected
   */
  public RejectedException(RejectionReason reason, String message) {
    super(Objects.requireNonNull(message, "message"));
    this.reason = Objects.requireNonNull(reason, "reason");
  }

  /** Returns the code. */
  public RejectionReason reason() {
    return reason;
  }
}
