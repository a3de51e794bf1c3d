package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.samples.RecordText;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.Names;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A plan of a workload that a line of a file has; see {@link PlanLine}.
 *
 * @param workload the workload, its tables with the kernels that the plan names
 * @param shards the shards, in {@link Shard#ORDER}
 */
record GivenPlan(WorkloadTask workload, List<Shard> shards) {
  /** What follows an underscore within the name of a field. */
  private static final Pattern WORD = Pattern.compile("_([a-z])(?=[a-z_]*\"\\s*:)");

  private record Line(Optional<String> task, int worldSize, List<Table> tables) {}

  private record Table(
      String name,
      Optional<ComputeKernel> computeKernel,
      Optional<CacheAlgorithm> cacheAlgorithm,
      Optional<Boolean> enforceHbm,
      Optional<Boolean> stochasticRounding,
      Optional<OutputType> outputDtype,
      List<Part> shards) {

    /** Returns a table with what the plan says of its kernel, for the prediction of its costs. */
    TableSpec on(TableSpec table) {
      TableKernel own = table.kernel();
      return TableSpecBuilder.builder(table)
          .enforceHbm(enforceHbm.orElse(table.enforceHbm()))
          .kernel(
              new TableKernel(
                  computeKernel,
                  OptionalDouble.empty(),
                  cacheAlgorithm.or(own::cacheAlgorithm),
                  outputDtype.or(own::outputType),
                  stochasticRounding.or(own::stochasticRounding)))
          .build();
    }
  }

  /** A shard; by default of all columns and rows from its offsets on. */
  private record Part(
      ShardKind kind,
      Optional<Integer> columnOffset,
      Optional<Integer> columns,
      Optional<Long> rowOffset,
      Optional<Long> rows,
      Optional<Integer> device,
      Optional<Double> cacheShare,
      Optional<Boolean> deduplicated,
      Optional<RowOrder> rowOrder) {

    Shard of(TableSpec table) {
      int column = columnOffset.orElse(0);
      long row = rowOffset.orElse(0L);
      Region region =
          new Region(
              column,
              columns.orElse(table.columns() - column),
              row,
              rows.orElse(table.rows() - row));
      return new Shard(
          table.name(),
          region,
          device.orElse(Shard.EVERY_DEVICE),
          kind,
          cacheShare.map(OptionalDouble::of).orElse(OptionalDouble.empty()),
          deduplicated.orElse(false),
          rowOrder);
    }
  }

  /**
   * Returns the plan of a line.
   *
   * @throws IllegalArgumentException if it is none of the workload, or the costs of its shards are
   *     not known; the message names the table, the value and the expectation
   */
  static GivenPlan parse(String text, WorkloadTask workload) {
    ObjectNode json =
        RecordText.parse(
            WORD.matcher(text).replaceAll(word -> word.group(1).toUpperCase(Locale.ROOT)));
    if (json.has("plan")) {
      throw new IllegalArgumentException(
          "a plan must have tables, got one of TorchRec; shardtide-py convert converts it");
    }
    Line line = RecordText.read(Line.class, json);
    ClusterSpec cluster = workload.cluster();
    if (!line.task.orElse(workload.name()).equals(workload.name())) {
      throw new IllegalArgumentException(
          "task must be %s, that of the same line of the workloads, got %s"
              .formatted(Names.quote(workload.name()), Names.quote(line.task.get())));
    }
    if (line.worldSize != cluster.devices()) {
      throw new IllegalArgumentException(
          "world_size must be %d, the devices of the cluster, got %d"
              .formatted(cluster.devices(), line.worldSize));
    }
    Map<String, Table> given =
        line.tables.stream()
            .collect(
                Collectors.toMap(
                    Table::name,
                    Function.identity(),
                    (one, same) -> {
                      throw invalid(one.name, "is there twice; must be once");
                    },
                    TreeMap::new));
    List<TableSpec> tables = new ArrayList<>();
    List<Shard> shards = new ArrayList<>();
    for (TableSpec table : workload.tables()) {
      Table planned = given.remove(table.name());
      if (planned == null) {
        throw invalid(table.name(), "is missing; the plan must have all tables of the workload");
      }
      List<Shard> parts =
          planned.shards.stream().map(part -> part.of(table)).sorted(Shard.ORDER).toList();
      check(table, parts, cluster);
      shards.addAll(parts);
      tables.add(planned.on(table));
    }
    if (!given.isEmpty()) {
      throw invalid(
          given.keySet().iterator().next(),
          "is not in the workload; the plan must have its tables only");
    }
    shards.sort(Shard.ORDER);
    return new GivenPlan(new WorkloadTask(workload.name(), tables, cluster), shards);
  }

  /**
   * Checks that the shards of a table are those of one kind, beside copies of hot rows: each cell
   * once, rows in even blocks, which are one on each device where they are split over devices.
   */
  private static void check(TableSpec table, List<Shard> shards, ClusterSpec cluster) {
    List<Shard> others = HotRows.others(shards);
    if (others.isEmpty()) {
      throw invalid(table.name(), "must have shards, got none");
    }
    if (table.pooled() && others.get(0).deduplicated()) {
      throw invalid(table.name(), "is deduplicated; must not be, since it is pooled");
    }
    Shard first = others.get(0);
    ShardKind kind = first.kind();
    ShardScope scope = kind.scope();
    boolean isSplit = scope == ShardScope.NODE || scope == ShardScope.CLUSTER;
    int devices = isSplit ? scope.devices(cluster) : kind.isOfBlocks() ? others.size() : 1;
    if (isSplit && cluster.devices() % devices != 0) {
      throw invalid(
          table.name(),
          "is %s on nodes of %d devices; must be a plan of whole nodes, got %d devices"
              .formatted(kind.label(), devices, cluster.devices()));
    }
    long hot = HotRows.of(shards).orElse(0);
    long rows = Math.max(1, table.rows() - hot);
    long block = Region.blockRows(rows, devices);
    int blocks = (int) ((rows - 1) / block + 1);
    List<Shard> expected = new ArrayList<>();
    if (hot > 0) {
      Region copied = new Region(0, table.columns(), 0, hot);
      expected.add(new Shard(table.name(), copied, Shard.EVERY_DEVICE, ShardKind.DATA_PARALLEL));
    }
    int column = 0;
    for (int i = 0; i < others.size(); i++) {
      int number = i % blocks;
      Shard lead = others.get(i - number);
      int columns =
          kind.isCut()
              ? lead.columns() / TableSpec.COLUMN_UNIT * TableSpec.COLUMN_UNIT
              : table.columns();
      long row = number * block;
      Region region = new Region(column, columns, hot + row, Math.min(block, rows - row));
      int device =
          Math.min(isSplit ? lead.device() : others.get(i).device(), cluster.devices() - 1);
      if (isSplit) {
        device = device / devices * devices + number;
      } else if (kind == ShardKind.TABLE_COLUMN_WISE
          && cluster.node(device) != cluster.node(first.device())) {
        device = first.device();
      }
      expected.add(first.at(region, device));
      column += number == blocks - 1 ? columns : 0;
    }
    for (int i = 0; i < expected.size(); i++) {
      if (!shards.get(i).equals(expected.get(i))) {
        throw invalid(
            table.name(),
            "is %s and has %s; expected %s"
                .formatted(kind.label(), text(shards.get(i)), text(expected.get(i))));
      }
    }
    if (column != table.columns() || shards.size() != expected.size()) {
      throw invalid(
          table.name(),
          "is %s and has %d columns with all rows; must have %d, each once"
              .formatted(kind.label(), column, table.columns()));
    }
  }

  private static String text(Shard shard) {
    return "columns %d+%d, rows %d+%d on device %d%s%s%s"
        .formatted(
            shard.columnOffset(),
            shard.columns(),
            shard.rowOffset(),
            shard.rows(),
            shard.device(),
            shard.cacheShare().isPresent() ? ", cached " + shard.cacheShare().getAsDouble() : "",
            shard.deduplicated() ? ", deduplicated" : "",
            shard.rowOrder().map(order -> ", " + order.label()).orElse(""));
  }

  private static IllegalArgumentException invalid(String table, String problem) {
    return new IllegalArgumentException("Table %s %s".formatted(Names.quote(table), problem));
  }
}
