package io.shardtide.replay;

/** A call that is right in itself, but not of this log: it names what is not there, say. */
public final class RefusedException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /**
   * @param message what is wrong, and what is expected
   */
  public RefusedException(String message) {
    super(message);
  }
}
