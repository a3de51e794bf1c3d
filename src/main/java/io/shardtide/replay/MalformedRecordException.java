package io.shardtide.replay;

/** A record that cannot be used. Says where it is. */
public final class MalformedRecordException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /**
   * @param where its file and line, or its place in a topic
   * @param cause what is wrong with it
   */
  public MalformedRecordException(String where, Exception cause) {
    super(where + ": " + cause.getMessage(), cause);
  }
}
