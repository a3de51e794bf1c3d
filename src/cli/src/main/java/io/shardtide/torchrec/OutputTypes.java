package io.shardtide.torchrec;

import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardKind;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;

/**
 * The number formats that ranks send in one collective. A module's tables of one sharding type
 * share it. A rank concatenates their outputs in their common format, single precision if they
 * differ, and sends single precision if it has no such table ({@code _dummy_embs_tensor}). Where
 * ranks send different formats, TorchRec 1.6.1 fails, or hangs.
 */
final class OutputTypes {
  private OutputTypes() {}

  /**
   * Checks that all ranks send one format in each collective of a module.
   *
   * @param tables the module's tables
   * @throws IllegalArgumentException if two ranks send different ones
   */
  static void check(String module, Collection<String> tables, ModelPlan plan) {
    Map<ShardKind, OutputType[]> sent = new EnumMap<>(ShardKind.class);
    for (String name : tables) {
      TableSharding sharding = plan.tables().get(name);
      if (sharding.type() != ShardKind.DATA_PARALLEL) {
        OutputType own = sharding.kernel().kernel().outputType().orElse(OutputType.DEFAULT);
        OutputType[] ofRanks =
            sent.computeIfAbsent(sharding.type(), type -> new OutputType[plan.worldSize()]);
        for (int rank : Set.copyOf(sharding.ranks())) {
          ofRanks[rank] = ofRanks[rank] == null || ofRanks[rank] == own ? own : OutputType.DEFAULT;
        }
      }
    }
    sent.forEach((type, ofRanks) -> check(module, type, ofRanks));
  }

  private static void check(String module, ShardKind type, OutputType[] ofRanks) {
    for (int rank = 1; rank < ofRanks.length; rank++) {
      OutputType first = ofRanks[0] == null ? OutputType.DEFAULT : ofRanks[0];
      OutputType own = ofRanks[rank] == null ? OutputType.DEFAULT : ofRanks[rank];
      if (own != first) {
        throw new IllegalArgumentException(
            "Module \"%s\": device 0 sends %s and device %d %s in the collective of its %s tables; must be one format. A device sends the outputType of its tables, or FP32 if they differ or there are none. Maybe publish one outputType for all tables, and use reshardable plans"
                .formatted(module, first, rank, own, type.label()));
      }
    }
  }
}
