package io.shardtide.bench;

import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A random pool of nodes of 8 devices in racks of 8 nodes, and the workloads that claim it: 10 to
 * 60 tables of 16 to 128 columns, batches of 8,192 to 131,072, weights of 0.5 to 2.
 *
 * @param state the pool and the claims
 * @param workloads the workloads by their ids
 */
record RandomPool(PoolState state, SortedMap<String, PoolWorkload> workloads) {
  private static final int DEVICES_PER_NODE = 8;
  private static final int NODES_PER_RACK = 8;
  private static final long MEMORY_BYTES = 80L << 30;

  /**
   * A workload of the pool.
   *
   * @param cluster its batch; the devices are the pool's
   * @param tables its tables
   */
  record PoolWorkload(ClusterSpec cluster, List<TableSpec> tables) {}

  /**
   * Returns a pool.
   *
   * @param workloads number of workloads
   * @param devices number of devices, a multiple of 8
   * @param hardware name of the hardware
   * @param seed seed of all draws
   */
  static RandomPool of(int workloads, int devices, String hardware, long seed) {
    Random random = new Random(seed);
    List<PoolNode> nodes = new ArrayList<>();
    for (int n = 0; n < devices / DEVICES_PER_NODE; n++) {
      nodes.add(new PoolNode("node-%04d".formatted(n), "rack-%03d".formatted(n / NODES_PER_RACK)));
    }
    Pool pool = Pool.of(DEVICES_PER_NODE, MEMORY_BYTES, 0, hardware, nodes);
    SortedMap<String, PoolWorkload> byId = new TreeMap<>();
    SortedMap<String, Claim> claims = new TreeMap<>();
    for (int w = 0; w < workloads; w++) {
      String id = "workload-%02d".formatted(w);
      int columns = 16 << random.nextInt(4);
      int batchSize = 8_192 << random.nextInt(5);
      byId.put(
          id,
          new PoolWorkload(
              new ClusterSpec(
                  DEVICES_PER_NODE, MEMORY_BYTES, batchSize, DEVICES_PER_NODE, hardware),
              SyntheticTables.of(10 + random.nextInt(51), columns, random.nextLong())));
      claims.put(
          id,
          new Claim(
              id,
              DEVICES_PER_NODE,
              DEVICES_PER_NODE << (3 + random.nextInt(3)),
              0.5 * (1 << random.nextInt(3)),
              random.nextInt(3)));
    }
    return new RandomPool(new PoolState("pool", 1, Optional.of(pool), claims), byId);
  }
}
