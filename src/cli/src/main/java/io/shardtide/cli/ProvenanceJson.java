package io.shardtide.cli;

import io.shardtide.replay.PlanProvenance;
import java.util.LinkedHashMap;
import java.util.Map;

/** The provenance of a plan as JSON: of the dashboard's API and of {@code why --json}. */
final class ProvenanceJson {
  private ProvenanceJson() {}

  /** Returns the provenance without the plans, which have JSON of their own. */
  static Map<String, Object> of(PlanProvenance provenance) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("planId", provenance.plan().planId());
    json.put("simulated", provenance.simulated());
    json.put("previousPlanId", provenance.previous().map(plan -> plan.planId()));
    json.put("previousGeneration", provenance.previous().map(plan -> plan.generation()));
    json.put("previousMs", provenance.previous().map(plan -> plan.predictedMs()));
    json.put("cluster", provenance.cluster());
    json.put("pool", provenance.pool());
    json.put("events", provenance.events());
    json.put("tables", provenance.tables());
    json.put("shared", provenance.shared());
    json.put("infeasible", provenance.infeasible());
    json.put("statuses", provenance.statuses());
    return json;
  }
}
