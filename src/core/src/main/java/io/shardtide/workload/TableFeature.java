package io.shardtide.workload;

import java.util.ArrayList;
import java.util.List;

/**
 * A feature whose ids are looked up in a table: each of its samples has an output of its own, or of
 * an unpooled table each of its lookups. Two things change how many samples a step looks up:
 *
 * <ul>
 *   <li>{@code batchShare}: with a batch size for each feature (VBE, variable batch size embedding;
 *       TorchRec's {@code ParameterConstraints.batch_sizes}), a feature has more samples than the
 *       batch, or fewer;
 *   <li>{@code duplicates}: where samples repeat, as those of one session do, each is looked up and
 *       sent once, and copied where it is used (RecD: Zhao et al., MLSys 2023, whose deduplication
 *       factor it is).
 * </ul>
 *
 * @param name unique among the features of its table
 * @param poolingFactor mean number of lookups of one of its samples, 0 to {@value
 *     TableSpec#MAX_POOLING_FACTOR}
 * @param batchShare its samples, for each sample of the cluster's batch; above 0, at most {@value
 *     #MAX_BATCH_SHARE}
 * @param duplicates how often a sample is in a batch, on average; 1 to {@value #MAX_DUPLICATES}
 */
public record TableFeature(
    String name, double poolingFactor, double batchShare, double duplicates) {
  /** More features of one table would make an event of one table larger than a record may be. */
  public static final int MAX_FEATURES = 1_000;

  /** More samples than any model has for each sample of its batch. */
  public static final double MAX_BATCH_SHARE = 1_000;

  /** More than a batch has samples, in most cases. */
  public static final double MAX_DUPLICATES = 1_000_000;

  /** By which share a table's pooling factor may differ from its features': people round. */
  private static final double TOLERANCE = 1e-4;

  /**
   * @throws RejectedException if a value is outside its range
   */
  public TableFeature {
    Names.check(name, "feature name", RejectionReason.INVALID_FEATURES);
    Limits limits = Limits.of(RejectionReason.INVALID_FEATURES, "feature", name);
    limits
        .in(" lookups per sample")
        .within("pooling factor", poolingFactor, 0, TableSpec.MAX_POOLING_FACTOR);
    limits
        .above("batch share", batchShare, 0, MAX_BATCH_SHARE)
        .within("duplicates", duplicates, 1, MAX_DUPLICATES);
  }

  /** A feature with the cluster's batch size, whose samples do not repeat. */
  public TableFeature(String name, double poolingFactor) {
    this(name, poolingFactor, 1, 1);
  }

  /** Returns the samples that a step looks up, for each sample of the cluster's batch. */
  public double samples() {
    return batchShare / duplicates;
  }

  /** Returns the lookups of a step, for each sample of the cluster's batch. */
  public double lookups() {
    return poolingFactor * samples();
  }

  /** Returns the lookups of some features together, for each sample of the cluster's batch. */
  public static double lookups(List<TableFeature> features) {
    return features.stream().mapToDouble(TableFeature::lookups).sum();
  }

  /**
   * Returns the features of a table without what says nothing: one feature with all samples of the
   * batch, none of them twice, is what a table has that describes none.
   *
   * @throws RejectedException if there are too many, two have one name, or their lookups are not
   *     those of the table
   */
  static List<TableFeature> ofTable(
      List<TableFeature> features, String table, double poolingFactor) {
    Limits limits = Limits.of(RejectionReason.INVALID_FEATURES, "table", table);
    limits
        .whole("number of features", features.size(), 0, MAX_FEATURES)
        .different("names of features", features.stream().map(TableFeature::name));
    double sum = lookups(features);
    if (!features.isEmpty() && !(Math.abs(poolingFactor - sum) <= TOLERANCE * sum)) {
      throw limits.failure(
          "pooling factor",
          sum + ", the sum over its features of poolingFactor * batchShare / duplicates",
          poolingFactor);
    }
    boolean isPlain =
        features.size() == 1 && features.get(0).batchShare == 1 && features.get(0).duplicates == 1;
    return isPlain ? List.of() : List.copyOf(features);
  }

  /**
   * Returns features with other pooling factors, in the same ratios, that have so many lookups
   * together; equal ones if they have none.
   *
   * @param lookups for each sample of the cluster's batch
   */
  static List<TableFeature> withLookups(List<TableFeature> features, double lookups) {
    double before = lookups(features);
    double samples = features.stream().mapToDouble(TableFeature::samples).sum();
    List<TableFeature> changed = new ArrayList<>();
    for (TableFeature feature : features) {
      double factor = before > 0 ? feature.poolingFactor * (lookups / before) : lookups / samples;
      changed.add(new TableFeature(feature.name, factor, feature.batchShare, feature.duplicates));
    }
    return changed;
  }
}
