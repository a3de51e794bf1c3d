package io.shardtide.wire;

/**
 * How much Avro believes of what bytes say about their own length. A reader makes room for as many
 * items as a record claims to hold before it reads the first: without a limit, twenty bytes take
 * the memory of two billion items.
 */
final class AvroLimits {
  /** More than any record holds: a plan of a million shards, a layer of a million weights. */
  private static final int MAX_ITEMS = 4_000_000;

  private AvroLimits() {}

  /**
   * Sets what the operator has not set. Must run before Avro reads for the first time, which is
   * when it looks.
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
