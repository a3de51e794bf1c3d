/**
 * Plans in TorchRec's words: a {@code ShardingPlan} for {@code DistributedModelParallel}, and what
 * to hand to its {@code reshard} to go from one plan to the next.
 *
 * <p>In: {@link io.shardtide.domain.ShardingPlan} and shards. Out: JSON that {@code
 * src/main/python/shardtide_torchrec.py} makes TorchRec's objects of. Knows TorchRec's rules, and
 * none of its code. Imports {@code domain} and Jackson.
 */
package io.shardtide.torchrec;
