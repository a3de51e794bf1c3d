/**
 * The checker of a soak: proves from the records on all topics, and from what publishers and
 * trainers sent and were told, that the documented guarantees held.
 *
 * <p>In: a {@link io.shardtide.bench.soak.SoakLog} and a {@link io.shardtide.bench.soak.Ledger}.
 * Out: a {@link io.shardtide.bench.soak.SoakReport}. The checks follow docs/EVENTS.md and
 * docs/OPERATING.md and share no code with the planner, except that plans are recomputed by {@code
 * replay}.
 */
package io.shardtide.bench.soak;
