package io.shardtide.client;

/** Receives allocations of pools. */
@FunctionalInterface
public interface AllocationListener extends SubscriptionListener {
  /** Called with the latest allocation of each pool at the start, then with each new one. */
  void allocation(AllocationUpdate update);
}
