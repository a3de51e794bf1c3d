/**
 * The cost model in TensorFlow: pretraining, fine-tuning, and batched prediction of tables. The
 * only package that imports {@code org.tensorflow}.
 *
 * <p>In: samples, or a model and tables. Out: {@link io.shardtide.cost.ModelBundle} and {@link
 * io.shardtide.cost.TablePrediction}, which are plain arrays.
 */
package io.shardtide.cost.tensorflow;
