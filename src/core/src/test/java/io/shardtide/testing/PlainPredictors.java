package io.shardtide.testing;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.step.Predictors;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.UnknownHardware;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Models in memory, run in plain Java. */
public final class PlainPredictors implements Predictors, CostModels {
  private final Map<String, TowerPredictor> current = new TreeMap<>();
  private final Map<String, CostModel> models = new HashMap<>();

  /** What happens to hardware without a model. */
  public UnknownHardware unknownHardware = UnknownHardware.REJECT;

  private long changes;

  /** Begins with a model of columns. */
  public PlainPredictors() {
    takeOver(TestModels.bundle());
  }

  /** From now on a model predicts for its hardware. */
  public void takeOver(ModelBundle bundle) {
    current.put(bundle.hardware(), new PlainTowers(bundle));
    models.put(bundle.modelId(), new CostModel(bundle));
    changes++;
  }

  /** Returns how many models took over. */
  public long changes() {
    return changes;
  }

  @Override
  public Optional<TowerPredictor> of(String hardware) {
    return Optional.ofNullable(current.get(hardware));
  }

  @Override
  public Optional<TowerPredictor> begin(ClusterSpec cluster) {
    if (unknownHardware == UnknownHardware.NEAREST) {
      NearestModel.begin(
              current.values().stream().map(p -> get(p.modelId()).bundle()).toList(), cluster)
          .ifPresent(this::takeOver);
    }
    return of(cluster.hardware());
  }

  @Override
  public SortedSet<String> hardware() {
    return new TreeSet<>(current.keySet());
  }

  @Override
  public CostModel get(String modelId) {
    return models.get(modelId);
  }
}
