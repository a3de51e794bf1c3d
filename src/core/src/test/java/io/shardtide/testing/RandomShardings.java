package io.shardtide.testing;

import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.Sharding.ColumnPart;
import io.shardtide.plan.Sharding.ColumnWise;
import io.shardtide.plan.Sharding.DataParallel;
import io.shardtide.plan.Sharding.GridShard;
import io.shardtide.plan.Sharding.NodePart;
import io.shardtide.plan.Sharding.PartialRowWise;
import io.shardtide.plan.Sharding.RowWise;
import io.shardtide.plan.Sharding.TableColumnWise;
import io.shardtide.plan.Sharding.TableRowWise;
import io.shardtide.plan.Sharding.TableWise;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;

/** Random shardings of a cluster, with parts of any widths. */
public final class RandomShardings {
  private final ClusterSpec cluster;
  private final Random random;

  public RandomShardings(ClusterSpec cluster, Random random) {
    this.cluster = cluster;
    this.random = random;
  }

  /** Returns shards of all tables, all of one kind. */
  public List<Shard> ofKind(List<TableSpec> tables, ShardKind kind) {
    return tables.stream()
        .flatMap(table -> sharding(table, kind).shards(table, cluster).stream())
        .toList();
  }

  /** Returns shards of all tables, each of a random kind. */
  public List<Shard> ofAnyKind(List<TableSpec> tables) {
    return tables.stream()
        .flatMap(table -> sharding(table, anyKind()).shards(table, cluster).stream())
        .toList();
  }

  /** Returns shards of all tables, each of a random kind, some of them cut by use. */
  public List<Shard> cutByUse(List<TableSpec> tables) {
    List<Shard> shards = new ArrayList<>();
    for (TableSpec table : tables) {
      Sharding whole = sharding(table, anyKind());
      boolean isCut =
          table.rows() > 1 && whole.kind() != ShardKind.DATA_PARALLEL && random.nextBoolean();
      shards.addAll((isCut ? byUse(table, whole) : whole).shards(table, cluster));
    }
    return shards;
  }

  private ShardKind anyKind() {
    ShardKind[] kinds = ShardKind.values();
    return kinds[random.nextInt(kinds.length)];
  }

  /** Returns a sharding of a table of two rows or more, some of which are copied. */
  public Sharding byUse(TableSpec table, Sharding others) {
    int hotRows = 1 + random.nextInt((int) table.rows() - 1);
    // Fewer rows may not be enough for each block.
    boolean areBlocks = others.kind() == ShardKind.PARTIAL_ROW_WISE;
    return new Sharding.HotColdSplit(
        hotRows, areBlocks ? new PartialRowWise(blocks(table.rows() - hotRows)) : others);
  }

  /** Returns a sharding of a kind. */
  public Sharding sharding(TableSpec table, ShardKind kind) {
    int node = random.nextInt(cluster.nodes());
    List<Integer> ofNode = cluster.devicesOfNode(node);
    return switch (kind) {
      case TABLE_WISE -> new TableWise(random.nextInt(cluster.devices()));
      case COLUMN_WISE -> new ColumnWise(parts(table, () -> random.nextInt(cluster.devices())));
      case TABLE_COLUMN_WISE ->
          new TableColumnWise(parts(table, () -> ofNode.get(random.nextInt(ofNode.size()))));
      case ROW_WISE -> new RowWise();
      case TABLE_ROW_WISE -> new TableRowWise(node);
      case GRID_SHARD ->
          new GridShard(
              parts(table, () -> random.nextInt(cluster.nodes())).stream()
                  .map(part -> new NodePart(part.columns(), part.device()))
                  .toList());
      case DATA_PARALLEL -> new DataParallel();
      case PARTIAL_ROW_WISE -> new PartialRowWise(blocks(table.rows()));
    };
  }

  /** Returns any devices, so many that each gets rows. */
  private List<Integer> blocks(long ofRows) {
    List<Integer> devices = new ArrayList<>(IntStream.range(0, cluster.devices()).boxed().toList());
    Collections.shuffle(devices, random);
    int most = 1 + random.nextInt(devices.size());
    long rows = (ofRows - 1) / most + 1;
    return devices.subList(0, (int) ((ofRows - 1) / rows + 1));
  }

  private List<ColumnPart> parts(TableSpec table, IntSupplier place) {
    List<ColumnPart> parts = new ArrayList<>();
    for (int left = table.columns(); left > 0; ) {
      int columns = 4 * (1 + random.nextInt(left / 4));
      parts.add(new ColumnPart(columns, place.getAsInt()));
      left -= columns;
    }
    return parts;
  }
}
