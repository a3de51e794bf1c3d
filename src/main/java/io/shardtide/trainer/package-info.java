/**
 * A reference DLRM trainer on CPU threads, for all kinds of shards. Each device is a thread with
 * its own shards: it draws lookups, pools them, runs its part of the forward collectives, computes
 * gradients, runs its part of the backward collectives and updates the rows. Costs are measured,
 * not predicted.
 *
 * <p>In: plans with the specs of their tables. Out: measured costs. May import {@code domain}.
 */
package io.shardtide.trainer;
