/**
 * A reference DLRM trainer on CPU threads. Each device is a thread with its own shards: it draws
 * lookups, pools them, runs the forward all-to-all, computes gradients, runs the backward
 * all-to-all and updates the rows. Costs are measured, not predicted.
 *
 * <p>In: plans with the specs of their tables. Out: measured costs. May import {@code domain}.
 */
package io.shardtide.trainer;
