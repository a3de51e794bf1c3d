package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CollectiveSource;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.LinkDataSheet;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/**
 * Nets of collectives that were not measured: trained like those of measured ones, on samples that
 * the formula of a data sheet computes. One net stands for both directions of a collective.
 */
final class DataSheetCollectives {
  private static final int SAMPLES = 4000;
  private static final int MAX_LOG2_DEVICES = 7;
  private static final int MAX_LOG2_DEVICES_PER_NODE = 6;

  /** Sizes of what a device has to send in all, or of its buffer: 1 KiB to 1 GiB. */
  private static final double MIN_LOG2_BYTES = 10;

  private static final double MAX_LOG2_BYTES = 30;

  private final LinkDataSheet links;
  private final TrainingSettings settings;
  private final TrainingProgress progress;
  private final Map<Collective, CollectiveNet> nets = new EnumMap<>(Collective.class);
  private final List<CollectiveSample> samples = new ArrayList<>();

  DataSheetCollectives(LinkDataSheet links, TrainingSettings settings, TrainingProgress progress) {
    this.links = links;
    this.settings = settings;
    this.progress = progress;
  }

  /** Returns the net of a collective that was not measured in a direction. */
  CollectiveNet net(Collective collective, Direction direction) {
    CollectiveNet net = nets.computeIfAbsent(collective, this::train);
    return new CollectiveNet(
        collective,
        Optional.of(direction),
        net.features(),
        net.coefficients(),
        net.layers(),
        Optional.empty(),
        CollectiveSource.DATA_SHEET);
  }

  /** Returns the computed samples of all nets. */
  List<CollectiveSample> samples() {
    return samples;
  }

  /** Errors are left out: they say how well a net follows the formula, not a machine. */
  private CollectiveNet train(Collective collective) {
    Random random = new Random(settings.seed());
    List<CollectiveSample> computed = new ArrayList<>();
    for (int s = 0; s < SAMPLES; s++) {
      computed.add(sample(collective, random));
    }
    samples.addAll(computed);
    return new CollectiveTraining(computed, settings.seed())
        .train(settings, progress, new TreeMap<>());
  }

  /** Devices are powers of two, up to 64 in a node and 128 in all; sizes are uniform in log2. */
  private CollectiveSample sample(Collective collective, Random random) {
    int log2Devices = 1 + random.nextInt(MAX_LOG2_DEVICES);
    int log2PerNode = random.nextInt(Math.min(log2Devices, MAX_LOG2_DEVICES_PER_NODE) + 1);
    DeviceGroup group = new DeviceGroup(1 << log2Devices, 1 << log2PerNode);
    double log2Bytes = MIN_LOG2_BYTES + random.nextDouble() * (MAX_LOG2_BYTES - MIN_LOG2_BYTES);
    double bytes = StrictMath.pow(2, log2Bytes);
    double[] sent = {bytes};
    double[] ms = {0};
    if (collective == Collective.ALL_TO_ALL) {
      double perPeer = bytes / group.devices();
      sent = uneven(perPeer, group.devices(), random);
      ms = new double[group.devices()];
      Arrays.fill(ms, links.allToAllMs(perPeer, group));
    } else {
      ms[0] = links.bufferMs(collective, bytes, group);
    }
    return new CollectiveSample(
        collective, Optional.empty(), group.devices(), group.devicesPerNode(), sent, ms);
  }

  /** Returns numbers up to the largest one, which one device has; some are all but equal. */
  private static double[] uneven(double largest, int devices, Random random) {
    double least = random.nextDouble();
    double[] numbers = new double[devices];
    Arrays.setAll(numbers, d -> largest * (least + (1 - least) * random.nextDouble()));
    numbers[random.nextInt(devices)] = largest;
    return numbers;
  }
}
