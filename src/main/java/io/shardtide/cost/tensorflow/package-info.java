/**
 * The nets in TensorFlow: training, and predicting tables in batches. The only place that imports
 * {@code org.tensorflow}.
 *
 * <p>In flow: samples, or a bundle and tables. Out flow: {@link io.shardtide.cost.ModelBundle} and
 * {@link io.shardtide.cost.TablePrediction}: plain arrays, never tensors or graphs. Imports {@code
 * cost} and {@code domain}.
 */
package io.shardtide.cost.tensorflow;
