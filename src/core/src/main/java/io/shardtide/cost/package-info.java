/**
 * Predicts costs: the shapes of shards, the loads of devices, the cost model as data, and the cost
 * of a step.
 *
 * <p>Inputs: tables and trained bundles. Outputs: {@link io.shardtide.cost.TablePrediction} and
 * {@link io.shardtide.cost.CostModel}, which the search uses. Everything here is plain Java with a
 * fixed order of additions, so that a plan is the same on any machine; only {@code cost.tensorflow}
 * calls TensorFlow.
 */
package io.shardtide.cost;
