package io.shardtide.topology;

/** Faults that a test injects into the topologies that its thread builds. */
interface Faults {
  /** None, but in tests. */
  ThreadLocal<Faults> INJECTED = ThreadLocal.withInitial(() -> new Faults() {});

  /** Is called when an attempt at a key's record or due work begins. */
  default void attempt(String key, String work) {}

  /** Is called at each write, to a store or a topic. */
  default void write() {}
}
