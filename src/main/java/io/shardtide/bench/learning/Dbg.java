package io.shardtide.bench.learning;

public class Dbg {
  public static io.shardtide.domain.TableSpec table(java.util.Random r) {
    return new WorkloadShape(1, 1, 2).randomTables(r).get(0);
  }

  public static double factor(MachineChange c, io.shardtide.cost.ShardShape s) {
    return c.factor(s);
  }
}
