package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Records without those of pools, which belong to no workload.
 *
 * @param records the records
 */
public record WithoutPools(LogRecords records) implements LogRecords {
  @Override
  public boolean has(RecordKind<?> kind) {
    return !kind.isOfPools() && records.has(kind);
  }

  @Override
  public <V> void read(RecordKind<V> kind, Consumer<? super V> each) throws IOException {
    records.read(kind, each);
  }

  @Override
  public Map<String, ModelBundle> models() throws IOException {
    return records.models();
  }
}
