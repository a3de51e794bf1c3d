package io.shardtide.client;

/** Receives plans. */
@FunctionalInterface
public interface PlanListener extends SubscriptionListener {
  /** Called with the latest plan of each workload at the start, then with each new plan. */
  void plan(PlanUpdate update);
}
