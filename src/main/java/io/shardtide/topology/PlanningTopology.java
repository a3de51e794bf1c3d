package io.shardtide.topology;

import io.shardtide.cost.CostPredictions;
import io.shardtide.planning.PlanningOutcome;
import io.shardtide.planning.PlanningStep;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * cost-predictions to sharding-plans and current-plans: collects a generation's predictions and
 * searches a plan. What does not fit goes to infeasible-workloads, and the last good plan stays
 * current.
 */
public final class PlanningTopology {
  private static final String READ = "read-predictions";
  private static final String PLAN = "plan-generations";
  private static final String WRITE_PLANS = "write-plans";
  private static final String WRITE_CURRENT = "write-current-plans";
  private static final String WRITE_INFEASIBLE = "write-infeasible";

  private PlanningTopology() {}

  /**
   * Builds the topology; nothing runs yet.
   *
   * @param topics where to read and write
   * @param registry schemas of the records
   * @param step what is done with predictions
   */
  public static Topology build(Topics topics, Registry registry, PlanningStep step) {
    ProcessorSupplier<String, CostPredictions, String, Object> supplier =
        new ProcessorSupplier<>() {
          @Override
          public Processor<String, CostPredictions, String, Object> get() {
            return new Plan(step);
          }

          @Override
          public Set<StoreBuilder<?>> stores() {
            return new LinkedHashSet<>(KafkaPlanningStore.builders());
          }
        };
    return new Topology()
        .addSource(
            READ,
            new StringDeserializer(),
            registry.serde(topics.costPredictions()).deserializer(),
            topics.costPredictions().name())
        .addProcessor(PLAN, supplier, READ)
        .addSink(
            WRITE_PLANS,
            topics.shardingPlans().name(),
            new StringSerializer(),
            registry.serde(topics.shardingPlans()).serializer(),
            PLAN)
        .addSink(
            WRITE_CURRENT,
            topics.currentPlans().name(),
            new StringSerializer(),
            registry.serde(topics.currentPlans()).serializer(),
            PLAN)
        .addSink(
            WRITE_INFEASIBLE,
            topics.infeasibleWorkloads().name(),
            new StringSerializer(),
            registry.serde(topics.infeasibleWorkloads()).serializer(),
            PLAN);
  }

  private static final class Plan implements Processor<String, CostPredictions, String, Object> {
    private final PlanningStep step;
    private ProcessorContext<String, Object> context;
    private KafkaPlanningStore store;

    Plan(PlanningStep step) {
      this.step = step;
    }

    @Override
    public void init(ProcessorContext<String, Object> newContext) {
      context = newContext;
      store = new KafkaPlanningStore(newContext);
    }

    @Override
    public void process(Record<String, CostPredictions> record) {
      PlanningOutcome outcome = step.apply(store, record.value()).orElse(null);
      if (outcome instanceof PlanningOutcome.Planned planned) {
        context.forward(record.withValue(planned.plan()), WRITE_PLANS);
        context.forward(record.withValue(planned.plan()), WRITE_CURRENT);
      } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
        context.forward(record.withValue(infeasible.workload()), WRITE_INFEASIBLE);
      }
    }
  }
}
