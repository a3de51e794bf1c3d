package io.shardtide.testing;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Shard;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.Sharding;
import io.shardtide.domain.Sharding.ColumnPart;
import io.shardtide.domain.Sharding.ColumnWise;
import io.shardtide.domain.Sharding.DataParallel;
import io.shardtide.domain.Sharding.GridShard;
import io.shardtide.domain.Sharding.NodePart;
import io.shardtide.domain.Sharding.RowWise;
import io.shardtide.domain.Sharding.TableColumnWise;
import io.shardtide.domain.Sharding.TableRowWise;
import io.shardtide.domain.Sharding.TableWise;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntSupplier;

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
    ShardKind[] kinds = ShardKind.values();
    return tables.stream()
        .flatMap(table -> ofKind(List.of(table), kinds[random.nextInt(kinds.length)]).stream())
        .toList();
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
    };
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
