package io.shardtide.replay;

/** A malformed record; the message names its position. */
public final class MalformedRecordException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /**
   * @param where its file and line, or its topic, partition and offset
   * @param cause why it is malformed
   */
  public MalformedRecordException(String where, Exception cause) {
    super(where + ": " + cause.getMessage(), cause);
  }
}
