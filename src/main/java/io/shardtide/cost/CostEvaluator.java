package io.shardtide.cost;

import java.util.List;

/**
 * Predicts what devices cost, in plain Java. Not thread-safe.
 *
 * <p>The cost of a plan is NeuroShard's (Zha et al., section 3.2): the slowest device's
 * computation, backward and forward communication. A device is ready for the forward exchange after
 * its computation and its backward exchange; an all-to-all ends for nobody before the last device
 * has begun, so that each device first waits for the last one and then exchanges. On the reference
 * samples the waiting is exactly the difference of the start times (residual 4e-6).
 */
public final class CostEvaluator {
  private final Mlp head;
  private final Mlp forward;
  private final Mlp backward;
  private final List<Feature> communicationFeatures;
  private final int sampledBatchSize;
  private final float[] headInput;
  private final float[] communicationInput;
  private long evaluations;

  CostEvaluator(ModelBundle bundle) {
    head = new Mlp(bundle.head());
    forward = new Mlp(bundle.forward());
    backward = new Mlp(bundle.backward());
    communicationFeatures = bundle.communicationFeatures();
    sampledBatchSize = bundle.batchSize();
    headInput = new float[head.inputs()];
    communicationInput = new float[communicationFeatures.size()];
  }

  /** Returns how often {@link #computeMs} was asked: the unit in which a search counts its work. */
  public long evaluations() {
    return evaluations;
  }

  /**
   * Predicts the computation of a device, forward and backward, in milliseconds.
   *
   * @param towerSum sum of {@link TowerSums#exact} over the device's shards, of which there is at
   *     least one
   */
  public double computeMs(double[] towerSum) {
    evaluations++;
    for (int i = 0; i < headInput.length; i++) {
      headInput[i] = (float) towerSum[i];
    }
    return Math.max(0f, head.apply(headInput)[0]);
  }

  /**
   * Predicts one step of all devices.
   *
   * @param computeMs computation of each device in milliseconds, 0 for one without shards
   * @param columns columns on each device
   * @param batchSize samples in a batch, over all devices
   */
  public PlanCost planCost(double[] computeMs, int[] columns, int batchSize) {
    int devices = columns.length;
    ExchangeCost exchange = exchange(columns, batchSize);
    double[] forwardMs = exchange.forwardMs();
    double[] backwardMs = exchange.backwardMs();
    double lastStartMs = 0;
    for (int d = 0; d < devices; d++) {
      lastStartMs = Math.max(lastStartMs, computeMs[d] + backwardMs[d]);
    }
    double predictedMs = 0;
    for (int d = 0; d < devices; d++) {
      forwardMs[d] += lastStartMs - (computeMs[d] + backwardMs[d]);
      predictedMs = Math.max(predictedMs, computeMs[d] + backwardMs[d] + forwardMs[d]);
    }
    return new PlanCost(computeMs.clone(), forwardMs, backwardMs, predictedMs);
  }

  /**
   * Predicts the exchanges when all devices begin together. One device alone exchanges nothing, and
   * neither do devices without columns.
   *
   * @param columns columns on each device
   * @param batchSize samples in a batch, over all devices
   */
  public ExchangeCost exchange(int[] columns, int batchSize) {
    int devices = columns.length;
    ExchangeCost cost = new ExchangeCost(new double[devices], new double[devices]);
    // A batch of another size than the measured one carries as much as so many more or fewer
    // columns.
    double scale = (double) batchSize / sampledBatchSize;
    long sum = 0;
    int max = 0;
    for (int c : columns) {
      sum += c;
      max = Math.max(max, c);
    }
    if (devices == 1 || max == 0) {
      return cost;
    }
    double mean = scale * sum / devices;
    for (int d = 0; d < devices; d++) {
      if (d > 0 && columns[d] == columns[d - 1]) {
        cost.forwardMs()[d] = cost.forwardMs()[d - 1];
        cost.backwardMs()[d] = cost.backwardMs()[d - 1];
        continue;
      }
      double[] features = CommunicationFeatures.of(scale * columns[d], mean, scale * max, devices);
      for (int f = 0; f < features.length; f++) {
        communicationInput[f] = communicationFeatures.get(f).normalize(features[f]);
      }
      cost.forwardMs()[d] = StrictMath.exp(forward.apply(communicationInput)[0]);
      cost.backwardMs()[d] = StrictMath.exp(backward.apply(communicationInput)[0]);
    }
    return cost;
  }
}
