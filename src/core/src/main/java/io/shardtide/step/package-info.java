/**
 * What the steps store of workloads: a header and tables, which follow predictions, and whatever
 * else a step needs, all in stores of two keys. The steps do not depend on Kafka: a topology's
 * stores and those in memory implement {@link io.shardtide.step.KeyValues}.
 */
package io.shardtide.step;
