/**
 * The two steps that live topologies and replays share: from a change to predictions, and from
 * predictions to a plan.
 *
 * <p>Inputs: events, predictions, and stores. Outputs: predictions, plans, or the reason why no
 * plan exists. The steps do not depend on Kafka: they read and write through {@link
 * io.shardtide.step.KeyValues}, and write only after every check has passed.
 */
package io.shardtide.planning;
