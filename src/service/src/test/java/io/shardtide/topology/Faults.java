package io.shardtide.topology;

import java.util.Optional;

/** Faults that a test injects into a topology's processors. */
interface Faults {
  /** Is called when an attempt at a key's record or due work begins. */
  default void attempt(String key, String work) {}

  /** Is called at each write, to a store or a topic. */
  default void write() {}

  /** Returns a processor with these faults. */
  default KeyedProcessor in(KeyedProcessor processor) {
    processor.attempts =
        new Attempts(processor.skeleton) {
          @Override
          void written() {
            super.written();
            write();
          }

          @Override
          Optional<Failure> attempt(String key, String work, Runnable action) {
            return super.attempt(
                key,
                work,
                () -> {
                  Faults.this.attempt(key, work);
                  action.run();
                });
          }
        };
    return processor;
  }

  /** Starts a planner with these faults in all its topologies. */
  default PlannerService start(PlannerParts parts) throws Exception {
    return new PlannerService(parts) {
      @Override
      KeyedProcessor processor(Skeleton skeleton, ModelSubscriber models) {
        return in(super.processor(skeleton, models));
      }
    }.started();
  }
}
