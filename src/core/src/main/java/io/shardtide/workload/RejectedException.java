package io.shardtide.workload;

/** An invalid input: a code for programs, and a sentence with the value and what is expected. */
public final class RejectedException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final RejectionReason reason;

  RejectedException(RejectionReason reason, String message) {
    super(message);
    this.reason = reason;
  }

  /** Returns the code. */
  public RejectionReason reason() {
    return reason;
  }
}
