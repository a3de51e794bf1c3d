package io.shardtide.torchrec;

import io.shardtide.torchrec.Target.Processor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableSpec;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * TorchRec's {@code CommType}s, and what it can send with each: the same in both directions. {@code
 * shardtide/torchrec/codecs.py} says how that was found; {@code codecs.json} has the cells of both,
 * and {@code test_torchrec_limits.py} runs them on TorchRec.
 */
enum Precision {
  /** Single precision. */
  FP32(true, true, 1),
  /** Half precision. */
  FP16(true, true, 1),
  /** With gloo, TorchRec sends FP16. */
  BF16(true, true, 1),
  /** Not with gloo. */
  FP8(false, false, 1),
  /** 32 numbers have a scale. */
  INT8(true, false, 32),
  /** 32 numbers have a scale. */
  MX4(true, false, 32);

  private final boolean isOnCpus;
  private final boolean sumsRows;
  private final int block;

  /**
   * @param isOnCpus whether all-to-alls of CPUs have it
   * @param sumsRows whether reduce-scatters have it, of shards with a part of the rows
   * @param block numbers that are encoded together
   */
  Precision(boolean isOnCpus, boolean sumsRows, int block) {
    this.isOnCpus = isOnCpus;
    this.sumsRows = sumsRows;
    this.block = block;
  }

  /** Returns the name of its codec. */
  String codecName() {
    return name().toLowerCase(Locale.ROOT);
  }

  private static Optional<Precision> of(CommCodec codec) {
    return Arrays.stream(values()).filter(of -> of.codecName().equals(codec.name())).findFirst();
  }

  /** Returns whether the collectives of shards of a scope, of pooled tables, have it. */
  boolean serves(ShardScope scope, Processor processor) {
    return switch (scope) {
      case DEVICE -> isOnCpus || processor == Processor.CUDA;
      case NODE, CLUSTER -> sumsRows;
      case COPIES -> true;
    };
  }

  /**
   * Checks the codec of a plan's collectives.
   *
   * @throws IllegalArgumentException if TorchRec does not send it
   */
  static void check(CommCodec codec, ShardScope scope, Processor processor) {
    if (of(codec).filter(of -> of.serves(scope, processor)).isEmpty()) {
      throw new IllegalArgumentException(
          "The collectives of scope %s have codec %s, which TorchRec does not send there on %s; must be one of %s: plan again without codec %s"
              .formatted(
                  scope.label(),
                  codec.name(),
                  name(processor),
                  Arrays.stream(values())
                      .filter(of -> of.serves(scope, processor))
                      .map(Precision::codecName)
                      .collect(Collectors.joining(", ")),
                  codec.name()));
    }
  }

  /**
   * Returns why TorchRec could not send a codec under some plan of these tables; empty if it can
   * under all. A plan has a codec in all collectives of a scope.
   */
  static Optional<String> problem(
      CommCodec codec, Collection<TableSpec> tables, ClusterSpec cluster, Processor processor) {
    Optional<Precision> precision = of(codec);
    if (precision.isEmpty()) {
      return Optional.of(
          "TorchRec has no such codec; must be one of "
              + Arrays.stream(values())
                  .map(Precision::codecName)
                  .collect(Collectors.joining(", ")));
    }
    return tables.stream()
        .flatMap(table -> precision.get().problem(table, cluster, processor).stream())
        .findFirst();
  }

  private Optional<String> problem(TableSpec table, ClusterSpec cluster, Processor processor) {
    List<String> unable =
        Arrays.stream(ShardKind.values())
            .filter(ShardKind::isOfTorchRec)
            .filter(table.constraints()::allows)
            // Unpooled tables are sent in all-to-alls, row_wise ones too.
            .filter(kind -> !serves(table.pooled() ? kind.scope() : ShardScope.DEVICE, processor))
            .map(ShardKind::label)
            .toList();
    if (!unable.isEmpty()) {
      return Optional.of(
          "TorchRec does not send it on %s for %s tables, which table %s may be; must be excluded by its kinds"
              .formatted(name(processor), String.join(", ", unable), table.name()));
    }
    if (table.constraints().isAlwaysCopied()) {
      return Optional.empty();
    }
    boolean isCut =
        table.constraints().allows(ShardKind.COLUMN_WISE)
            || table.constraints().allows(ShardKind.TABLE_COLUMN_WISE);
    // Unpooled tables have any number of lookups, and are cut into two halves at most.
    boolean isWhole =
        table.pooled()
            ? table.features().stream()
                    .map(TableFeature::batchShare)
                    .allMatch(share -> isWhole(sent(table, isCut, cluster, share)))
                && isWhole(sent(table, isCut, cluster, 1))
            : isWhole(isCut ? table.columns() / 2.0 : table.columns());
    return isWhole
        ? Optional.empty()
        : Optional.of(
            "TorchRec sends it in blocks of %d numbers; samples of a device times columns of a part of table %s must be a multiple"
                .formatted(block, table.name()));
  }

  /** Returns a number of which all that a device sends to another one is a multiple. */
  private static double sent(TableSpec table, boolean isCut, ClusterSpec cluster, double share) {
    double samples = (double) cluster.batchSize() / cluster.devices() * share;
    return samples * (isCut ? TableSpec.COLUMN_UNIT : table.columns());
  }

  private boolean isWhole(double numbers) {
    return block == 1 || numbers % block == 0;
  }

  private static String name(Processor processor) {
    return processor.name().toLowerCase(Locale.ROOT);
  }
}
