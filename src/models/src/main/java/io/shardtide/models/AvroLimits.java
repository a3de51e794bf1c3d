package io.shardtide.models;

/**
 * Limits of lengths in Avro records. A reader allocates as many items as a record claims before it
 * reads the first: without a limit, twenty bytes could allocate two billion items.
 */
public final class AvroLimits {
  /** More than any record holds: a plan of a million shards, a layer of a million weights. */
  private static final int MAX_ITEMS = 4_000_000;

  /** Twice the largest record that topics and stores take. */
  public static final int MAX_BYTES = 32 << 20;

  private AvroLimits() {}

  /**
   * Sets the limits that the operator has not set. Must run before Avro's first read, which reads
   * them.
   */
  public static void set() {
    setDefault("org.apache.avro.limits.collectionItems.maxLength", MAX_ITEMS);
    setDefault("org.apache.avro.limits.bytes.maxLength", MAX_BYTES);
    setDefault("org.apache.avro.limits.string.maxLength", MAX_BYTES);
  }

  private static void setDefault(String property, int value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, Integer.toString(value));
    }
  }
}
