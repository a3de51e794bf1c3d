package io.shardtide.cli;

import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Names;
import java.util.OptionalLong;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Hardware that workloads are planned on in place of their own.
 *
 * @param name name of the hardware, which selects the cost model
 * @param memoryBytes memory of each of its devices in bytes; empty: that of each workload's cluster
 */
record NamedHardware(String name, OptionalLong memoryBytes) {
  private static final double GIB = 1L << 30;

  /** Reads {@code NAME} or {@code NAME=GIB}, GiB being 2^30 bytes. */
  static final class Converter implements ITypeConverter<NamedHardware> {
    @Override
    public NamedHardware convert(String text) {
      int end = text.lastIndexOf('=');
      String name = end < 0 ? text : text.substring(0, end);
      if (name.isBlank()) {
        throw new TypeConversionException(
            "must be NAME or NAME=GIB, got %s".formatted(Names.quote(text)));
      }
      return new NamedHardware(
          name.strip(),
          end < 0 ? OptionalLong.empty() : OptionalLong.of(bytes(text, text.substring(end + 1))));
    }

    private static long bytes(String text, String gib) {
      try {
        double bytes = Double.parseDouble(gib) * GIB;
        if (bytes >= 1 && bytes <= ClusterSpec.MAX_MEMORY_BYTES) {
          return Math.round(bytes);
        }
      } catch (NumberFormatException e) {
        // No number: refused below, as one outside the range.
      }
      throw new TypeConversionException(
          "memory of a device must be above 0 and at most %.0f GiB, got %s"
              .formatted(ClusterSpec.MAX_MEMORY_BYTES / GIB, Names.quote(text)));
    }
  }

  /**
   * Returns a workload on as many devices of this hardware. All else of its cluster stays, reserved
   * memory too.
   *
   * @throws io.shardtide.workload.RejectedException if the cluster reserves all of the memory
   */
  WorkloadTask on(WorkloadTask task) {
    ClusterSpec cluster = task.cluster();
    return new WorkloadTask(
        task.name(),
        task.tables(),
        ClusterSpecBuilder.builder(cluster)
            .hardware(name)
            .memoryBytesPerDevice(memoryBytes.orElse(cluster.memoryBytesPerDevice()))
            .build());
  }

  /** Checks that a workload can be {@link #on} this hardware; the message names it. */
  void check(WorkloadTask task) {
    try {
      on(task);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("on %s: %s".formatted(name, e.getMessage()), e);
    }
  }
}
