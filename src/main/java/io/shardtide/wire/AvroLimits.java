package io.shardtide.wire;

/**
 * Limits of lengths in Avro records. A reader allocates as many items as a record claims before it
 * reads the first: without a limit, twenty bytes could allocate two billion items.
 */
final class AvroLimits {
  /** More than any record holds: a plan of a million shards, a layer of a million weights. */
  private static final int MAX_ITEMS = 4_000_000;

  private AvroLimits() {}

  /**
   * Sets the limits that the operator has not set. Must run before Avro's first read, which reads
   * them.
   */
  static void set() {
    setDefault("org.apache.avro.limits.collectionItems.maxLength", MAX_ITEMS);
    setDefault("org.apache.avro.limits.bytes.maxLength", 2 * Topics.LARGE_RECORD_BYTES);
    setDefault("org.apache.avro.limits.string.maxLength", 2 * Topics.LARGE_RECORD_BYTES);
  }

  private static void setDefault(String property, int value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, Integer.toString(value));
    }
  }
}
