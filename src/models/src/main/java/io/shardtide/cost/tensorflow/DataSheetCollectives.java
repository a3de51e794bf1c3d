package io.shardtide.cost.tensorflow;

import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CollectiveSource;
import io.shardtide.cost.DeviceGroup;
import io.shardtide.cost.Links;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/**
 * Nets of collectives that were not measured, or in tables only: trained like those of measured
 * ones, on samples that links compute. One net stands for both directions of a collective.
 */
final class DataSheetCollectives {
  private static final int SAMPLES = 4000;
  private static final int MAX_LOG2_DEVICES = 7;
  private static final int MAX_LOG2_DEVICES_PER_NODE = 6;

  /** Sizes of what a device has to send in all, or of its buffer: 1 KiB to 1 GiB. */
  private static final double MIN_LOG2_BYTES = 10;

  private static final double MAX_LOG2_BYTES = 30;

  private final Links links;
  private final TrainingSettings settings;
  private final TrainingProgress progress;
  private final Map<Collective, CollectiveNet> nets = new EnumMap<>(Collective.class);
  private final List<CollectiveSample> samples = new ArrayList<>();

  DataSheetCollectives(Links links, TrainingSettings settings, TrainingProgress progress) {
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

  /**
   * Every second sample is of a measured group, if there are any, and of its sizes. Devices of the
   * others are powers of two, up to 64 in a node and 128 in all. Sizes are uniform in log2.
   */
  private CollectiveSample sample(Collective collective, Random random) {
    List<DeviceGroup> measured = List.copyOf(links.tables(collective).keySet());
    if (!measured.isEmpty() && random.nextBoolean()) {
      DeviceGroup group = measured.get(random.nextInt(measured.size()));
      NavigableMap<Double, Double> sizes = links.tables(collective).get(group);
      return sample(collective, group, sizes.firstKey(), sizes.lastKey(), random);
    }
    int log2Devices = 1 + random.nextInt(MAX_LOG2_DEVICES);
    int log2PerNode = random.nextInt(Math.min(log2Devices, MAX_LOG2_DEVICES_PER_NODE) + 1);
    DeviceGroup group = new DeviceGroup(1 << log2Devices, 1 << log2PerNode);
    return sample(collective, group, MIN_LOG2_BYTES, MAX_LOG2_BYTES, random);
  }

  private CollectiveSample sample(
      Collective collective,
      DeviceGroup group,
      double minLog2Bytes,
      double maxLog2Bytes,
      Random random) {
    double log2Bytes = minLog2Bytes + random.nextDouble() * (maxLog2Bytes - minLog2Bytes);
    double bytes = StrictMath.pow(2, log2Bytes);
    double[] sent = {bytes};
    double[] ms = {0};
    if (collective == Collective.ALL_TO_ALL) {
      double perPeer = bytes / group.devices();
      sent = uneven(perPeer, group.devices(), random);
      ms = new double[group.devices()];
      Arrays.fill(ms, links.ms(collective, perPeer, group));
    } else {
      ms[0] = links.ms(collective, bytes, group);
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
