package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import java.util.Arrays;
import java.util.List;

/**
 * Predicts costs in plain Java; {@link ModelBundle} has the formulas. Not thread-safe: one for each
 * thread.
 */
public final class CostEvaluator {
  private final ModelBundle bundle;
  private final Mlp head;
  private final int components;
  private final List<DenseLayer> headLayers;
  private final AllToAllModel forward;
  private final AllToAllModel backward;
  private final List<Feature> communicationFeatures;
  private final float[] headInput;
  private final float[] communicationInput;
  private double[] allToAllTerms = {};
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
    components = bundle.latencyComponents();
    headLayers = bundle.head();
    forward = new AllToAllModel(bundle.forward());
    backward = new AllToAllModel(bundle.backward());
    communicationFeatures = bundle.communicationFeatures();
    this.bundle = bundle;
    headInput = new float[head.inputs()];
    communicationInput = new float[communicationFeatures.size()];
  }

  /** Returns the length of a tower's output, and of a device's sum of them. */
  public int towerSize() {
    return headInput.length;
  }

  /** Returns how often a computation was predicted: the unit of a search's budget. */
  public long evaluations() {
    return evaluations;
  }

  /** Predicts the computation of a device in milliseconds; 0 without shards. */
  double computeMs(DeviceLoad load) {
    return load.shards() == 0 ? 0 : computeMs(load.towerSum());
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
    for (int k = 0; k < components; k++) {
      float g = corrections[k];
      ms += (float) towerSum[k] * ((1f + Math.max(0f, g)) / (1f + Math.max(0f, -g)));
    }
    return ms;
  }

  /**
   * Returns a lower bound of the factor by which the head scales each latency component, whatever a
   * device holds: the head reads sums s as {@code s/(1+s)}, between 0 and 1, and intervals are
   * propagated through its layers.
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
    double[] factors = new double[components];
    for (int k = 0; k < components; k++) {
      factors[k] = (1 + Math.max(0, low[k])) / (1 + Math.max(0, -low[k]));
    }
    return factors;
  }

  /** Predicts the communication of a step when all devices begin together. */
  public CommunicationCost communication(ClusterSpec cluster, List<DeviceLoad> loads) {
    if (loads.size() != cluster.devices()) {
      throw new IllegalArgumentException(
          "loads must be one for each of %d devices, got %d"
              .formatted(cluster.devices(), loads.size()));
    }
    return allToAll(loads.stream().mapToDouble(DeviceLoad::allToAllElements).toArray());
  }

  /**
   * Predicts both all-to-alls of a step when all devices begin together. They take no time on one
   * device, nor when no device sends anything.
   *
   * @param elements numbers that each device contributes, its own part included
   */
  public CommunicationCost allToAll(double[] elements) {
    int devices = elements.length;
    CommunicationCost cost = new CommunicationCost(new double[devices], new double[devices]);
    double sum = 0;
    double max = 0;
    for (double own : elements) {
      sum += own;
      max = Math.max(max, own);
    }
    if (devices == 1 || max == 0) {
      return cost;
    }
    for (int d = 0; d < devices; d++) {
      if (d > 0 && elements[d] == elements[d - 1]) {
        cost.forwardMs()[d] = cost.forwardMs()[d - 1];
        cost.backwardMs()[d] = cost.backwardMs()[d - 1];
        continue;
      }
      readAllToAll(elements[d], max, sum, devices);
      cost.forwardMs()[d] = forward.ms(allToAllTerms, communicationInput);
      cost.backwardMs()[d] = backward.ms(allToAllTerms, communicationInput);
    }
    return cost;
  }

  /**
   * Predicts the forward all-to-all of one device, as {@link #allToAll} does, in milliseconds.
   *
   * @param elements numbers that the device contributes
   * @param maxElements largest of all devices, above 0
   * @param totalElements sum over all devices
   * @param devices number of devices, at least 2
   */
  public double forwardMs(double elements, double maxElements, double totalElements, int devices) {
    readAllToAll(elements, maxElements, totalElements, devices);
    return forward.ms(allToAllTerms, communicationInput);
  }

  /** Predicts the backward all-to-all of one device; see {@link #forwardMs}. */
  public double backwardMs(double elements, double maxElements, double totalElements, int devices) {
    readAllToAll(elements, maxElements, totalElements, devices);
    return backward.ms(allToAllTerms, communicationInput);
  }

  private void readAllToAll(
      double elements, double maxElements, double totalElements, int devices) {
    double own = bundle.sampledColumns(elements);
    double max = bundle.sampledColumns(maxElements);
    double mean = bundle.sampledColumns(totalElements) / devices;
    allToAllTerms = AllToAllTerms.of(own, mean, max, devices);
    double[] features = CommunicationFeatures.of(own, mean, max, devices);
    for (int f = 0; f < features.length; f++) {
      communicationInput[f] = communicationFeatures.get(f).normalize(features[f]);
    }
  }
}
