package io.shardtide.replay;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.Named;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Describes the changes of an event for people. */
final class ChangeTexts {
  private static final List<Quantity<TableSpec>> OF_TABLE =
      List.of(
          count("rows", TableSpec::rows),
          count("columns", table -> (long) table.columns()),
          number("lookups per sample", TableSpec::poolingFactor),
          number("bytes per element", TableSpec::bytesPerElement),
          new Quantity<>(
              "optimizer", TableSpec::optimizer, table -> Named.describe(table.optimizer())),
          number("optimizer bytes per element", TableSpec::optimizerBytesPerElement),
          number("optimizer bytes per row", TableSpec::optimizerBytesPerRow),
          new Quantity<>(
              "outputs",
              TableSpec::pooled,
              table -> table.pooled() ? "one a sample" : "one a lookup"));

  private static final List<Quantity<TableSpec>> OF_FEATURES =
      List.of(
          new Quantity<>("features", TableSpec::features, ChangeTexts::features),
          new Quantity<>(
              "weights of ids",
              TableSpec::idWeights,
              table -> table.idWeights().map(IdWeights::label).orElse("none")));

  private static final List<Quantity<TableSpec>> OF_STORAGE =
      List.of(
          new Quantity<>(
              "storage",
              table -> table.storage().isPresent(),
              table -> table.storage().isPresent() ? "a hash table" : "a fixed number of rows"),
          count("ids", table -> stored(table).ids()),
          number("ids per day", table -> stored(table).idsPerDay()),
          number("bytes of a slot's key", table -> stored(table).slotBytes()),
          new Quantity<>(
              "eviction",
              table -> stored(table).eviction(),
              table -> stored(table).eviction().label()),
          new Quantity<>("hit shares", table -> stored(table).hitShares(), ChangeTexts::hitShares));

  private static final List<Quantity<TableSpec>> OF_CONSTRAINTS =
      List.of(
          new Quantity<>(
              "allowed kinds", table -> table.constraints().kinds(), ChangeTexts::allowedKinds),
          count("least columns of a part", table -> (long) table.constraints().leastColumns()),
          new Quantity<>(
              "same devices as",
              table -> table.constraints().sameDevicesAs(),
              table -> table.constraints().sameDevicesAs().orElse("(none)")),
          new Quantity<>(
              "rows in host memory",
              table -> table.constraints().mayBeCached(),
              table -> table.constraints().mayBeCached() ? "allowed" : "not allowed"),
          new Quantity<>(
              "copies of hot rows",
              table -> table.constraints().mayHaveHotRows(),
              table -> table.constraints().mayHaveHotRows() ? "allowed" : "not allowed"),
          new Quantity<>(
              "optimizer state of cached rows",
              TableSpec::enforceHbm,
              table -> table.enforceHbm() ? "in device memory" : "in host memory"),
          decided("compute kernel", kernel -> kernel.computeKernel().map(ComputeKernel::label)),
          decided(
              "cache load factor",
              kernel ->
                  kernel.cacheLoadFactor().isPresent()
                      ? Optional.of(number(kernel.cacheLoadFactor().getAsDouble()))
                      : Optional.empty()),
          decided("cache algorithm", kernel -> kernel.cacheAlgorithm().map(Enum::name)),
          decided("output type", kernel -> kernel.outputType().map(Enum::name)),
          decided(
              "stochastic rounding",
              kernel -> kernel.stochasticRounding().map(is -> is ? "on" : "off")));

  private static final List<Quantity<ClusterSpec>> OF_CLUSTER =
      List.of(
          count("devices", cluster -> (long) cluster.devices()),
          bytes("memory per device", ClusterSpec::memoryBytesPerDevice),
          count("batch size", cluster -> (long) cluster.batchSize()),
          count("devices per node", cluster -> (long) cluster.devicesPerNode()),
          new Quantity<>("hardware", ClusterSpec::hardware, ClusterSpec::hardware));

  /** What an event may leave out. */
  private static final List<Quantity<ClusterSpec>> OPTIONAL_OF_CLUSTER =
      List.of(
          bytes("host memory per device", ClusterSpec::hostMemoryBytesPerDevice),
          bytes("reserved memory per device", ClusterSpec::reservedMemoryBytesPerDevice),
          new Quantity<>(
              "memory of a step",
              ClusterSpec::countsStepMemory,
              cluster -> cluster.countsStepMemory() ? "counted" : "not counted"),
          number("forward bytes per element on the wire", ClusterSpec::forwardBytesPerElement),
          number("backward bytes per element on the wire", ClusterSpec::backwardBytesPerElement),
          new Quantity<>(
              "replica groups",
              ClusterSpec::replicaGroups,
              cluster ->
                  cluster.replicaGroups().stream()
                      .map(String::valueOf)
                      .collect(Collectors.joining(" or "))),
          count("steps between synchronizations", cluster -> (long) cluster.synchronizationSteps()),
          new Quantity<>("codecs", ClusterSpec::codecs, ChangeTexts::codecs),
          new Quantity<>(
              "optimizer of its tables",
              ClusterSpec::optimizer,
              cluster -> Named.describe(cluster.optimizer())),
          new Quantity<>(
              "training pipeline",
              ClusterSpec::pipeline,
              cluster -> Named.describe(cluster.pipeline())),
          new Quantity<>(
              "memory of single devices",
              ClusterSpec::memoryBytesByDevice,
              ChangeTexts::memoryByDevice),
          new Quantity<>(
              "devices per host",
              ClusterSpec::devicesPerHost,
              cluster -> text("%,d", cluster.hostDevices())));

  private ChangeTexts() {}

  /**
   * A quantity of a table or cluster.
   *
   * @param name its name
   * @param value returns it
   * @param text returns it for people
   */
  private record Quantity<T>(String name, Function<T, Object> value, Function<T, String> text) {
    boolean differs(T before, T after) {
      return !value.apply(before).equals(value.apply(after));
    }
  }

  private static HashedStorage stored(TableSpec table) {
    return table.storage().orElse(HashedStorage.PLAIN);
  }

  private static String hitShares(TableSpec table) {
    AccessCdf shares = stored(table).hitShares();
    return shares.isKnown()
        ? shares.shares().stream().map(ChangeTexts::number).collect(Collectors.joining(" "))
        : "(not known)";
  }

  /** Returns what a table's kernel says of something, if its publisher decided that. */
  private static Quantity<TableSpec> decided(
      String name, Function<TableKernel, Optional<String>> text) {
    return new Quantity<>(
        name,
        table -> text.apply(table.kernel()),
        table -> text.apply(table.kernel()).orElse("(not decided)"));
  }

  private static <T> Quantity<T> count(String name, Function<T, Long> value) {
    return new Quantity<>(name, value::apply, spec -> text("%,d", value.apply(spec)));
  }

  private static <T> Quantity<T> bytes(String name, Function<T, Long> value) {
    return new Quantity<>(name, value::apply, spec -> ByteSizes.describe(value.apply(spec)));
  }

  private static <T> Quantity<T> number(String name, Function<T, Double> value) {
    return new Quantity<>(name, value::apply, spec -> number(value.apply(spec)));
  }

  /** Returns one line per change. */
  static List<String> describe(Workload before, WorkloadChange event) {
    List<String> lines = new ArrayList<>();
    for (Change change : event.changes()) {
      if (change instanceof Change.TableUpserted upserted) {
        TableSpec table = before.tables().get(upserted.table().name());
        lines.add(
            describe(table, TableSpec.upserted(Optional.ofNullable(table), upserted.table())));
      } else if (change instanceof Change.TableResized resized) {
        lines.add(describe(before.tables().get(resized.name()), resized));
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

  private static String describe(TableSpec before, Change.TableResized resized) {
    return text(
        "table %s is resized: %s%,d slots%s",
        resized.name(),
        before == null ? "" : text("%,d -> ", before.rows()),
        resized.rows(),
        resized.reason().isBlank() ? "" : ": " + resized.reason());
  }

  private static String describe(TableSpec before, TableSpec after) {
    if (before == null) {
      String added =
          text(
              "table %s is added: %,d rows, %d columns, %s lookups per sample, %s",
              after.name(),
              after.rows(),
              after.columns(),
              number(after.poolingFactor()),
              ByteSizes.describe(after.bytes()));
      TableSpec plain =
          TableSpecBuilder.builder(after)
              .constraints(TableConstraints.NONE)
              .features(List.of())
              .idWeights(Optional.empty())
              .kernel(TableKernel.NONE)
              .build();
      // What a hash table cannot be is not told as a constraint, so that plain has one, too.
      TableSpec fixed = TableSpecBuilder.builder(plain).storage(Optional.empty()).build();
      String used = withOthers(added, OF_FEATURES, plain, after);
      return withOthers(withOthers(used, OF_STORAGE, fixed, after), OF_CONSTRAINTS, plain, after);
    }
    List<String> parts = new ArrayList<>(differences(OF_TABLE, before, after));
    if (!before.reuseHistogram().equals(after.reuseHistogram())) {
      parts.add("reuse histogram changed");
    }
    if (!before.accessCdf().equals(after.accessCdf())) {
      parts.add("access CDF " + difference(before.accessCdf(), after.accessCdf()));
    }
    parts.addAll(differences(OF_FEATURES, before, after));
    parts.addAll(differences(OF_STORAGE, before, after));
    parts.addAll(differences(OF_CONSTRAINTS, before, after));
    return "table %s: %s".formatted(after.name(), changes(parts));
  }

  private static String allowedKinds(TableSpec table) {
    return table.constraints().kinds().isEmpty()
        ? "all"
        : table.constraints().kinds().stream()
            .map(ShardKind::label)
            .collect(Collectors.joining(" or "));
  }

  private static String features(TableSpec table) {
    return table.features().isEmpty()
        ? "one"
        : table.features().stream().map(ChangeTexts::feature).collect(Collectors.joining(" and "));
  }

  private static String feature(TableFeature feature) {
    String lookups = "%s of %s lookups".formatted(feature.name(), number(feature.poolingFactor()));
    return feature.samples() == 1
        ? lookups
        : lookups + " in %s of the samples".formatted(number(feature.samples()));
  }

  private static String codecs(ClusterSpec cluster) {
    return cluster.codecs().isEmpty()
        ? "none"
        : cluster.codecs().stream()
            .map(codec -> codec.name() + " of " + number(codec.sentBytesPerElement()) + " bytes")
            .collect(Collectors.joining(" or "));
  }

  private static String memoryByDevice(ClusterSpec cluster) {
    return cluster.memoryBytesByDevice().isEmpty()
        ? "(as of all)"
        : cluster.memoryBytesByDevice().stream()
            .map(of -> "device %d %s".formatted(of.device(), ByteSizes.describe(of.bytes())))
            .collect(Collectors.joining(" and "));
  }

  private static String difference(AccessCdf before, AccessCdf after) {
    if (!after.isKnown()) {
      return "no longer known";
    }
    return before.isKnown() ? "changed" : "now known";
  }

  private static String describe(Optional<ClusterSpec> before, ClusterSpec after) {
    if (before.isPresent()) {
      List<String> parts = new ArrayList<>(differences(OF_CLUSTER, before.get(), after));
      parts.addAll(differences(OPTIONAL_OF_CLUSTER, before.get(), after));
      return "cluster: " + changes(parts);
    }
    ClusterSpec plain =
        new ClusterSpec(
            after.devices(),
            after.memoryBytesPerDevice(),
            after.batchSize(),
            after.devicesPerNode(),
            after.hardware());
    String set =
        text(
            "the cluster is set: %d devices of %s, batch size %,d, %d devices per node, hardware %s",
            after.devices(),
            ByteSizes.describe(after.memoryBytesPerDevice()),
            after.batchSize(),
            after.devicesPerNode(),
            after.hardware());
    return withOthers(set, OPTIONAL_OF_CLUSTER, plain, after);
  }

  /** Returns a text with the quantities that an event may leave out and does not. */
  private static <T> String withOthers(
      String text, List<Quantity<T>> quantities, T plain, T given) {
    Stream<String> others =
        quantities.stream()
            .filter(quantity -> quantity.differs(plain, given))
            .map(quantity -> quantity.name() + " " + quantity.text().apply(given));
    return Stream.concat(Stream.of(text), others).collect(Collectors.joining(", "));
  }

  private static <T> List<String> differences(List<Quantity<T>> quantities, T before, T after) {
    return quantities.stream()
        .filter(quantity -> quantity.differs(before, after))
        .map(
            quantity ->
                "%s %s -> %s"
                    .formatted(
                        quantity.name(),
                        quantity.text().apply(before),
                        quantity.text().apply(after)))
        .toList();
  }

  private static String changes(List<String> parts) {
    return parts.isEmpty() ? "unchanged" : String.join(", ", parts);
  }

  private static String number(double value) {
    return value == Math.rint(value) ? text("%.0f", value) : text("%.4g", value);
  }

  @FormatMethod
  private static String text(String format, Object... args) {
    return String.format(Locale.ROOT, format, args);
  }
}
