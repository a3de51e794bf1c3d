package io.shardtide.testing;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostModels;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.planning.Predictors;
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
  private long changes;

  /** Begins with the shipped model. */
  public PlainPredictors() {
    takeOver(Fixtures.bundle());
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
  public SortedSet<String> hardware() {
    return new TreeSet<>(current.keySet());
  }

  @Override
  public CostModel get(String modelId) {
    return models.get(modelId);
  }
}
