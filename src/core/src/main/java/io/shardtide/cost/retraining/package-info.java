/**
 * Fine-tunes cost models on measurements of running plans, in plain Java.
 *
 * <p>In: a model, its tower, samples. Out: the model with corrections and their uncertainty. The
 * same samples give the same bits.
 */
package io.shardtide.cost.retraining;
