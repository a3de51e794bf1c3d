package io.shardtide.testing;

import io.shardtide.cost.CollectiveInputs;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DenseLayer;
import io.shardtide.cost.Feature;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelCard;
import io.shardtide.cost.ShapeBasis;
import io.shardtide.domain.AcceptedStatus;
import io.shardtide.domain.AccessCdf;
import io.shardtide.domain.Change;
import io.shardtide.domain.Change.ClusterSet;
import io.shardtide.domain.Change.TableDropped;
import io.shardtide.domain.Change.TableUpserted;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.PlanStatus;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.IntStream;

/** Values that tests begin with. */
public final class Fixtures {
  public static final long MIB = 1L << 20;
  public static final long GIB = 1L << 30;
  public static final String WORKLOAD = "feed-ranking";
  public static final Instant TIME = Instant.parse("2026-11-21T10:15:30Z");

  private static final ModelBundle SHIPPED = load();

  private Fixtures() {}

  private static ModelBundle load() {
    try {
      return ModelFiles.read(Path.of("models/simulated.avro"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The bundle that is shipped. */
  public static ModelBundle bundle() {
    return SHIPPED;
  }

  /** The same weights under another seed: another model as far as anyone can tell. */
  public static ModelBundle otherBundle() {
    ModelCard card = SHIPPED.card();
    return ModelBundleBuilder.builder(SHIPPED)
        .modelId("")
        .card(
            new ModelCard(
                card.description(),
                card.simulated(),
                card.seed() + 1,
                card.computeSamples(),
                card.collectiveSamples(),
                card.sources(),
                card.heldOutTables(),
                card.errors(),
                card.beganAs()))
        .build()
        .identified();
  }

  /** Returns a model as if it had been retrained on a number of computations. */
  public static ModelBundle measured(ModelBundle bundle, int computations) {
    ModelCard card = bundle.card();
    return ModelBundleBuilder.builder(bundle)
        .modelId("")
        .card(
            new ModelCard(
                card.description(),
                card.simulated(),
                card.seed(),
                computations,
                card.collectiveSamples(),
                card.sources(),
                card.heldOutTables(),
                card.errors(),
                card.beganAs()))
        .build()
        .identified();
  }

  /** Returns a model as if measurements of running plans had changed it, by nothing. */
  public static ModelBundle fineTuned(ModelBundle bundle) {
    double[] none = new double[ShapeBasis.SIZE];
    return ModelBundleBuilder.builder(bundle)
        .modelId("")
        .correction(
            Optional.of(
                new LogCorrection(
                    List.of(
                        new LogCorrection.Member(0, none, none),
                        new LogCorrection.Member(0, none, none)))))
        .build()
        .identified();
  }

  /** The shipped computation, and collectives with coefficients and weights of one digit. */
  public static ModelBundle allCollectives() {
    return withCollectives(
        collective(Collective.ALL_TO_ALL, Direction.FORWARD, 1),
        collective(Collective.ALL_TO_ALL, Direction.BACKWARD, 2),
        collective(Collective.REDUCE_SCATTER, Direction.FORWARD, 3),
        collective(Collective.ALL_GATHER, Direction.BACKWARD, 4),
        collective(Collective.ALL_REDUCE, Direction.BACKWARD, 5));
  }

  /** The shipped computation with other collectives. */
  public static ModelBundle withCollectives(CollectiveNet... nets) {
    return ModelBundleBuilder.builder(SHIPPED)
        .modelId("")
        .collectives(List.of(nets))
        .build()
        .identified();
  }

  /** Terms and inputs of one collective count differently, and each collective costs its factor. */
  public static CollectiveNet collective(
      Collective collective, Direction direction, double factor) {
    List<String> terms = CollectiveInputs.terms(collective);
    List<Double> coefficients = new ArrayList<>();
    for (int t = 0; t < terms.size(); t++) {
      coefficients.add(factor * (1 + t % 9) * (terms.get(t).startsWith("bytes") ? 1e-8 : 1e-3));
    }
    List<Feature> features =
        CollectiveInputs.features(collective).stream()
            .map(name -> new Feature(name, 1, 10, 0, 40))
            .toList();
    float[] weights = new float[features.size()];
    for (int f = 0; f < weights.length; f++) {
      weights[f] = 0.01f * (1 + f % 9);
    }
    return new CollectiveNet(
        collective,
        Optional.of(direction),
        features,
        coefficients,
        List.of(new DenseLayer(weights.length, 1, weights, new float[] {0.1f})));
  }

  public static CostModel model() {
    return new CostModel(SHIPPED);
  }

  public static TableSpec table(String name, long rows, int columns, double poolingFactor) {
    return new TableSpec(name, rows, columns, poolingFactor, ReuseHistogram.UNKNOWN, 4);
  }

  public static ClusterSpec cluster(int devices, long memoryBytes) {
    return new ClusterSpec(devices, memoryBytes, 65_536, 8, SHIPPED.hardware());
  }

  /** Shares that fall by half from one to the next. */
  public static ReuseHistogram reuse() {
    Double[] shares = new Double[ReuseHistogram.SIZE];
    double sum = 0;
    for (int k = 0; k < shares.length; k++) {
      shares[k] = Math.pow(0.5, k + 1);
      sum += shares[k];
    }
    shares[0] += 1 - sum;
    return new ReuseHistogram(Arrays.asList(shares));
  }

  /** Shares that rise evenly from one entry to the next. */
  public static AccessCdf cdf(long rows) {
    int size = AccessCdf.size(rows);
    return new AccessCdf(
        IntStream.rangeClosed(1, size).mapToObj(entry -> (double) entry / size).toList());
  }

  public static Change upsert(String name, long rows, int columns, double poolingFactor) {
    return new TableUpserted(table(name, rows, columns, poolingFactor));
  }

  public static Change drop(String name) {
    return new TableDropped(name);
  }

  /** Returns the change that deletes the workload. */
  public static Change delete() {
    return new Change.WorkloadDeleted("retired");
  }

  public static Change set(int devices, long memoryBytes) {
    return new ClusterSet(cluster(devices, memoryBytes));
  }

  public static WorkloadChange event(Change... changes) {
    return event(OptionalLong.empty(), changes);
  }

  public static WorkloadChange event(OptionalLong expectedGeneration, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), WORKLOAD, TIME, "test", expectedGeneration, List.of(changes));
  }

  /** An event of another workload than {@link #WORKLOAD}. */
  public static WorkloadChange eventOf(String workloadId, Change... changes) {
    return new WorkloadChange(
        UUID.randomUUID(), workloadId, TIME, "test", OptionalLong.empty(), List.of(changes));
  }

  /** A trainer adopted a plan. */
  public static PlanStatus adopted(ShardingPlan plan) {
    return new PlanStatus(
        plan.workloadId(),
        plan.planId(),
        PlanStatus.StatusKind.ADOPTED,
        1,
        Optional.empty(),
        "trainer",
        "run",
        TIME);
  }

  /** Planning accepted that a trainer adopted a plan. */
  public static AcceptedStatus accepted(ShardingPlan plan) {
    PlanStatus status = adopted(plan);
    return new AcceptedStatus(
        plan.workloadId(),
        Optional.of(status),
        Optional.of(plan.planId()),
        Optional.empty(),
        OptionalLong.of(status.step()),
        status.run());
  }

  /** An event whose id depends on its number only, so that two runs publish the same bytes. */
  public static WorkloadChange numbered(int number, Change... changes) {
    return new WorkloadChange(
        UUID.nameUUIDFromBytes(Integer.toString(number).getBytes(StandardCharsets.UTF_8)),
        WORKLOAD,
        TIME,
        "test",
        OptionalLong.empty(),
        List.of(changes));
  }

  public static SourcePosition at(long offset) {
    return new SourcePosition("workload-changes", 0, offset);
  }

  public static <T> List<T> times(int count, T value) {
    return Collections.nCopies(count, value);
  }
}
