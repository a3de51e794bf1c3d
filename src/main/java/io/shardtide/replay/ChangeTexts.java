package io.shardtide.replay;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.domain.ByteSizes;
import io.shardtide.domain.Change;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.Workload;
import io.shardtide.domain.WorkloadChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Describes the changes of an event for people. */
final class ChangeTexts {
  private ChangeTexts() {}

  /** Returns one line per change. */
  static List<String> describe(Workload before, WorkloadChange event) {
    List<String> lines = new ArrayList<>();
    for (Change change : event.changes()) {
      if (change instanceof Change.TableUpserted upserted) {
        lines.add(describe(before.tables().get(upserted.table().name()), upserted.table()));
      } else if (change instanceof Change.TableDropped dropped) {
        lines.add("table %s is dropped".formatted(dropped.name()));
      } else if (change instanceof Change.ClusterSet set) {
        lines.add(describe(before.cluster(), set.cluster()));
      } else if (change instanceof Change.WorkloadDeleted deleted) {
        lines.add(
            text(
                "the workload is deleted, with %,d tables: %s",
                before.tables().size(), deleted.reason()));
      }
    }
    return lines;
  }

  private static String describe(TableSpec before, TableSpec after) {
    if (before == null) {
      return text(
          "table %s is added: %,d rows, %d columns, %s lookups per sample, %s",
          after.name(),
          after.rows(),
          after.columns(),
          number(after.poolingFactor()),
          ByteSizes.describe(after.bytes()));
    }
    List<String> parts = new ArrayList<>();
    if (before.rows() != after.rows()) {
      parts.add(text("rows %,d -> %,d", before.rows(), after.rows()));
    }
    if (before.columns() != after.columns()) {
      parts.add(text("columns %d -> %d", before.columns(), after.columns()));
    }
    if (before.poolingFactor() != after.poolingFactor()) {
      parts.add(
          text(
              "lookups per sample %s -> %s",
              number(before.poolingFactor()), number(after.poolingFactor())));
    }
    if (!before.reuseHistogram().equals(after.reuseHistogram())) {
      parts.add("reuse histogram changed");
    }
    if (before.bytesPerElement() != after.bytesPerElement()) {
      parts.add(
          text(
              "bytes per element %s -> %s",
              number(before.bytesPerElement()), number(after.bytesPerElement())));
    }
    return "table %s: %s"
        .formatted(after.name(), parts.isEmpty() ? "unchanged" : String.join(", ", parts));
  }

  private static String describe(Optional<ClusterSpec> before, ClusterSpec after) {
    if (before.isEmpty()) {
      return text(
          "the cluster is set: %d devices of %s, batch size %,d, %d devices per node, hardware %s",
          after.devices(),
          ByteSizes.describe(after.memoryBytesPerDevice()),
          after.batchSize(),
          after.devicesPerNode(),
          after.hardware());
    }
    ClusterSpec was = before.get();
    List<String> parts = new ArrayList<>();
    if (was.devices() != after.devices()) {
      parts.add(text("devices %d -> %d", was.devices(), after.devices()));
    }
    if (was.memoryBytesPerDevice() != after.memoryBytesPerDevice()) {
      parts.add(
          text(
              "memory per device %s -> %s",
              ByteSizes.describe(was.memoryBytesPerDevice()),
              ByteSizes.describe(after.memoryBytesPerDevice())));
    }
    if (was.batchSize() != after.batchSize()) {
      parts.add(text("batch size %,d -> %,d", was.batchSize(), after.batchSize()));
    }
    if (was.devicesPerNode() != after.devicesPerNode()) {
      parts.add(text("devices per node %d -> %d", was.devicesPerNode(), after.devicesPerNode()));
    }
    if (!was.hardware().equals(after.hardware())) {
      parts.add("hardware %s -> %s".formatted(was.hardware(), after.hardware()));
    }
    return "cluster: " + (parts.isEmpty() ? "unchanged" : String.join(", ", parts));
  }

  private static String number(double value) {
    return value == Math.rint(value) ? text("%.0f", value) : text("%.4g", value);
  }

  @FormatMethod
  private static String text(String format, Object... args) {
    return String.format(Locale.ROOT, format, args);
  }
}
