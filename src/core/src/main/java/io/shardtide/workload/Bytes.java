package io.shardtide.workload;

import java.util.Arrays;
import java.util.HexFormat;

/** Immutable bytes, equal by content. */
public final class Bytes {
  private final byte[] content;

  private Bytes(byte[] content) {
    this.content = content;
  }

  /** Returns a copy of the content. */
  public static Bytes copyOf(byte[] content) {
    return new Bytes(content.clone());
  }

  /** Returns a copy of the content. */
  public byte[] toArray() {
    return content.clone();
  }

  /** Returns how many bytes there are. */
  public int size() {
    return content.length;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Bytes bytes && Arrays.equals(content, bytes.content);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(content);
  }

  @Override
  public String toString() {
    int shown = Math.min(content.length, 16);
    return content.length + " bytes " + HexFormat.of().formatHex(content, 0, shown);
  }
}
