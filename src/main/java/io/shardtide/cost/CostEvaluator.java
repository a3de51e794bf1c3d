package io.shardtide.cost;

import java.util.Arrays;
import java.util.List;

/**
 * Predicts what devices cost, in plain Java; {@link ModelBundle} has the formulas. Not thread-safe.
 *
 * <p>The cost of a plan is NeuroShard's (Zha et al., section 3.2): the slowest device's
 * computation, backward and forward communication. A device is ready for the forward exchange after
 * its computation and its backward exchange; an all-to-all ends for nobody before the last device
 * has begun, so that each device first waits for the last one and then exchanges. On the reference
 * samples the waiting is exactly the difference of the start times (residual 4e-6).
 */
public final class CostEvaluator {
  private final Mlp head;
  private final int works;
  private final List<DenseLayer> headLayers;
  private final AllToAllModel forward;
  private final AllToAllModel backward;
  private final List<Feature> communicationFeatures;
  private final int sampledBatchSize;
  private final float[] headInput;
  private final float[] communicationInput;
  private double[] exchangeTerms = {};
  private long evaluations;

  /** A net of one direction with its coefficients, ready to run. */
  private static final class AllToAllModel {
    private final double[] coefficients;
    private final Mlp correction;

    AllToAllModel(AllToAllNet net) {
      coefficients = net.coefficients().stream().mapToDouble(Double::doubleValue).toArray();
      correction = new Mlp(net.layers());
    }

    double ms(double[] terms, float[] features) {
      double base = 0;
      for (int i = 0; i < coefficients.length; i++) {
        base += coefficients[i] * terms[i];
      }
      return base * StrictMath.exp(correction.apply(features)[0]);
    }
  }

  CostEvaluator(ModelBundle bundle) {
    head = new Mlp(bundle.head());
    works = bundle.works();
    headLayers = bundle.head();
    forward = new AllToAllModel(bundle.forward());
    backward = new AllToAllModel(bundle.backward());
    communicationFeatures = bundle.communicationFeatures();
    sampledBatchSize = bundle.batchSize();
    headInput = new float[head.inputs()];
    communicationInput = new float[communicationFeatures.size()];
  }

  /** Returns how many numbers the sum of a device's towers has. */
  public int towerSize() {
    return headInput.length;
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
      float sum = (float) towerSum[i];
      headInput[i] = sum / (1f + sum);
    }
    float[] corrections = head.apply(headInput);
    float ms = 0;
    for (int k = 0; k < works; k++) {
      float g = corrections[k];
      ms += (float) towerSum[k] * ((1f + Math.max(0f, g)) / (1f + Math.max(0f, -g)));
    }
    return ms;
  }

  /**
   * Returns what the head scales each work by at least, whatever a device holds: sums s are read as
   * {@code s/(1+s)}, which is from 0 to 1, and the head's layers are followed with intervals.
   */
  public double[] leastFactors() {
    double[] low = new double[headInput.length];
    double[] high = new double[headInput.length];
    Arrays.fill(high, 1);
    for (int l = 0; l < headLayers.size(); l++) {
      DenseLayer layer = headLayers.get(l);
      double[] newLow = new double[layer.outputs()];
      double[] newHigh = new double[layer.outputs()];
      for (int j = 0; j < layer.outputs(); j++) {
        newLow[j] = layer.biases()[j];
        newHigh[j] = layer.biases()[j];
        for (int i = 0; i < layer.inputs(); i++) {
          double w = layer.weights()[i * layer.outputs() + j];
          newLow[j] += w * (w > 0 ? low[i] : high[i]);
          newHigh[j] += w * (w > 0 ? high[i] : low[i]);
        }
        if (l + 1 < headLayers.size()) {
          newLow[j] = Math.max(0, newLow[j]);
          newHigh[j] = Math.max(0, newHigh[j]);
        }
      }
      low = newLow;
      high = newHigh;
    }
    double[] factors = new double[works];
    for (int k = 0; k < works; k++) {
      factors[k] = (1 + Math.max(0, low[k])) / (1 + Math.max(0, -low[k]));
    }
    return factors;
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
    CommunicationCost exchange = exchange(columns, batchSize);
    double[] forwardMs = exchange.forwardMs();
    double[] backwardMs = exchange.backwardMs();
    double lastStartMs = 0;
    double longestForwardMs = 0;
    for (int d = 0; d < devices; d++) {
      lastStartMs = Math.max(lastStartMs, computeMs[d] + backwardMs[d]);
      longestForwardMs = Math.max(longestForwardMs, forwardMs[d]);
    }
    double predictedMs = lastStartMs + longestForwardMs;
    for (int d = 0; d < devices; d++) {
      forwardMs[d] += lastStartMs - (computeMs[d] + backwardMs[d]);
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
  public CommunicationCost exchange(int[] columns, int batchSize) {
    int devices = columns.length;
    CommunicationCost cost = new CommunicationCost(new double[devices], new double[devices]);
    long sum = 0;
    int max = 0;
    for (int c : columns) {
      sum += c;
      max = Math.max(max, c);
    }
    if (devices == 1 || max == 0) {
      return cost;
    }
    for (int d = 0; d < devices; d++) {
      if (d > 0 && columns[d] == columns[d - 1]) {
        cost.forwardMs()[d] = cost.forwardMs()[d - 1];
        cost.backwardMs()[d] = cost.backwardMs()[d - 1];
        continue;
      }
      readExchange(columns[d], max, sum, devices, batchSize);
      cost.forwardMs()[d] = forward.ms(exchangeTerms, communicationInput);
      cost.backwardMs()[d] = backward.ms(exchangeTerms, communicationInput);
    }
    return cost;
  }

  /**
   * Predicts the forward exchange of one device, as {@link #exchange} does, in milliseconds.
   *
   * @param columns columns on the device
   * @param maxColumns largest number of columns on any device, above 0
   * @param totalColumns columns on all devices together
   * @param devices number of devices, at least 2
   * @param batchSize samples in a batch, over all devices
   */
  public double forwardMs(
      int columns, int maxColumns, long totalColumns, int devices, int batchSize) {
    readExchange(columns, maxColumns, totalColumns, devices, batchSize);
    return forward.ms(exchangeTerms, communicationInput);
  }

  /** Predicts the backward exchange of one device; see {@link #forwardMs}. */
  public double backwardMs(
      int columns, int maxColumns, long totalColumns, int devices, int batchSize) {
    readExchange(columns, maxColumns, totalColumns, devices, batchSize);
    return backward.ms(exchangeTerms, communicationInput);
  }

  private void readExchange(
      int columns, int maxColumns, long totalColumns, int devices, int batchSize) {
    // A batch of another size than the measured one carries as much as so many more or fewer
    // columns.
    double scale = (double) batchSize / sampledBatchSize;
    double own = scale * columns;
    double max = scale * maxColumns;
    double mean = scale * totalColumns / devices;
    exchangeTerms = AllToAllTerms.of(own, mean, max, devices);
    double[] features = CommunicationFeatures.of(own, mean, max, devices);
    for (int f = 0; f < features.length; f++) {
      communicationInput[f] = communicationFeatures.get(f).normalize(features[f]);
    }
  }
}
