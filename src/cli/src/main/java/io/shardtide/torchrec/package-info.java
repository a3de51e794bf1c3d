/**
 * Conversion of plans to TorchRec: a {@code ShardingPlan} for {@code DistributedModelParallel}, and
 * the arguments of its {@code reshard} to change from one plan to the next; and of TorchRec's plans
 * to shards.
 *
 * <p>In: {@link io.shardtide.plan.ShardingPlan} and shards. Out: JSON from which {@code
 * src/python/shardtide/torchrec} creates TorchRec's objects. Implements TorchRec's rules without
 * its code.
 */
package io.shardtide.torchrec;
