/**
 * The two steps that live topologies and replays share, from a change to predictions, and from
 * predictions to a plan; and what all steps store of workloads: a header and tables, which follow
 * predictions, in stores of two keys.
 *
 * <p>Inputs: events, predictions, and stores. Outputs: predictions, plans, or the reason why no
 * plan exists. The steps do not depend on Kafka: a topology's stores and those in memory implement
 * {@link io.shardtide.step.KeyValues}; they write only after every check has passed.
 */
package io.shardtide.step;
