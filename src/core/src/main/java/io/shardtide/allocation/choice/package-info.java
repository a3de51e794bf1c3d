/**
 * Chooses one option of each group, for the greatest total value within limits: the multiple-choice
 * knapsack with several constraints.
 *
 * <p>Inputs: values and uses as arrays. Output: a choice, and by how much the optimum may be
 * better. The only package that imports ojAlgo; imports nothing of Shardtide.
 */
package io.shardtide.allocation.choice;
