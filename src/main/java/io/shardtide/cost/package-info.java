/**
 * What a number means: the features of a shard, the cost model as data, and the arithmetic that
 * turns a placement into milliseconds.
 *
 * <p>In flow: tables and trained bundles. Out flow: {@link io.shardtide.cost.TablePrediction} and
 * {@link io.shardtide.cost.CostModel}, which the search reads. Everything here is plain Java with a
 * fixed order of additions, so that a plan is the same on any machine; only {@code cost.tensorflow}
 * below it calls TensorFlow. Imports {@code domain}.
 */
package io.shardtide.cost;
