package io.shardtide.torchrec;

import com.fasterxml.jackson.databind.JsonNode;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.Named;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Reads the sharding of one table of a plan of TorchRec. */
final class ImportedTable {
  /** All fields that exported plans have; an optimizer is the workload's, and not read. */
  private static final List<String> FIELDS =
      List.of(
          "sharding_type",
          "compute_kernel",
          "cache_params",
          "enforce_hbm",
          "stochastic_rounding",
          "output_dtype",
          "optimizer",
          "ranks",
          "shards",
          "size");

  private static final List<String> CACHE_FIELDS = List.of("algorithm", "load_factor");
  private static final List<String> SHARD_FIELDS =
      List.of("shard_offsets", "shard_sizes", "placement");

  private final TableSpec table;
  private final Ranks ranks;

  private ImportedTable(TableSpec table, Ranks ranks) {
    this.table = table;
    this.ranks = ranks;
  }

  /**
   * Returns the shards that have rows.
   *
   * @throws IllegalArgumentException if it is no sharding of the table
   */
  static List<Shard> shards(JsonNode sharding, TableSpec table, Ranks ranks) {
    return new ImportedTable(table, ranks).shards(sharding);
  }

  /**
   * Returns the table as the sharding has it: computed by the sharding's kernel, with its number
   * formats, where it names them.
   *
   * @throws IllegalArgumentException if a value is none of its kind
   */
  static TableSpec table(JsonNode sharding, TableSpec table, Ranks ranks) {
    return new ImportedTable(table, ranks).table(sharding);
  }

  private TableSpec table(JsonNode sharding) {
    ShardKind type = type(sharding);
    ComputeKernel kernel = kernel(type, sharding.get("compute_kernel"));
    TableKernel own = table.kernel();
    JsonNode cache = sharding.path("cache_params").path("algorithm");
    // Other kernels, and that of copies, follow from the shards; whether the workload allows them
    // does not matter.
    return TableSpecBuilder.builder(table)
        .enforceHbm(flag(sharding, "enforce_hbm").orElse(table.enforceHbm()))
        .kernel(
            new TableKernel(
                Optional.of(kernel)
                    .filter(k -> k == ComputeKernel.DENSE && type != ShardKind.DATA_PARALLEL),
                OptionalDouble.empty(),
                isAbsent(cache)
                    ? own.cacheAlgorithm()
                    : Optional.of(named(cache, "cache_params: algorithm", CacheAlgorithm.values())),
                isAbsent(sharding.get("output_dtype"))
                    ? own.outputType()
                    : Optional.of(
                        named(sharding.get("output_dtype"), "output_dtype", OutputType.values())),
                flag(sharding, "stochastic_rounding").or(own::stochasticRounding)))
        .build();
  }

  private static boolean isAbsent(JsonNode value) {
    return value == null || value.isNull() || value.isMissingNode();
  }

  private Optional<Boolean> flag(JsonNode sharding, String field) {
    JsonNode value = sharding.get(field);
    if (isAbsent(value)) {
      return Optional.empty();
    }
    if (!value.isBoolean()) {
      throw Fields.invalid(where(field), "true or false", value);
    }
    return Optional.of(value.booleanValue());
  }

  private <E extends Enum<E>> E named(JsonNode value, String field, E[] known) {
    return Arrays.stream(known)
        .filter(e -> value.isTextual() && e.name().equals(value.textValue()))
        .findFirst()
        .orElseThrow(
            () ->
                Fields.invalid(
                    where(field),
                    "one of "
                        + Arrays.stream(known).map(Enum::name).collect(Collectors.joining(", ")),
                    value));
  }

  private List<Shard> shards(JsonNode sharding) {
    Fields.of(sharding, where(""), FIELDS);
    ShardKind type = type(sharding);
    OptionalDouble cacheShare =
        cacheShare(kernel(type, sharding.get("compute_kernel")), sharding.get("cache_params"));
    List<Integer> onRanks = new ArrayList<>();
    for (JsonNode rank : Fields.list(sharding.get("ranks"), where("ranks"))) {
      onRanks.add((int) Fields.wholeNumber(rank, where("ranks"), ranks.worldSize() - 1));
    }
    List<ShardMetadata> shards =
        type == ShardKind.DATA_PARALLEL ? copy(sharding, onRanks) : parts(sharding, onRanks);
    PlannedKernel kernel = new PlannedKernel(table.name(), TableKernel.NONE, false);
    TableSharding found = new TableSharding(type, shards, cacheShare, kernel);
    if (found.rows() != table.rows() || found.columns() != table.columns()) {
      throw new IllegalArgumentException(
          "Table \"%s\" is %d rows by %d columns; must be %d by %d as in the workload"
              .formatted(
                  table.name(), found.rows(), found.columns(), table.rows(), table.columns()));
    }
    ShardingRules.check(table.name(), type, shards, ranks);
    ShardingRules.checkWidths(table.name(), shards);
    return shards.stream()
        .filter(shard -> shard.rows() > 0)
        .map(
            shard ->
                new Shard(
                    table.name(),
                    new Region(
                        shard.columnOffset(), shard.columns(), shard.rowOffset(), shard.rows()),
                    shard.rank(),
                    type,
                    cacheShare))
        .toList();
  }

  private ShardKind type(JsonNode sharding) {
    JsonNode name = sharding.get("sharding_type");
    return Optional.ofNullable(name)
        .map(JsonNode::textValue)
        .flatMap(text -> Named.find(ShardKind.class, text))
        .orElseThrow(
            () ->
                Fields.invalid(
                    where("sharding_type"),
                    "one of " + Named.join(List.of(ShardKind.values())),
                    name));
  }

  /** Kernels of other storage are refused: their costs are not predicted. */
  private ComputeKernel kernel(ShardKind type, JsonNode name) {
    List<ComputeKernel> kernels =
        type == ShardKind.DATA_PARALLEL
            ? List.of(ComputeKernel.DENSE)
            : List.of(ComputeKernel.values());
    return kernels.stream()
        .filter(
            kernel -> name != null && name.isTextual() && kernel.label().equals(name.textValue()))
        .findFirst()
        .orElseThrow(
            () ->
                Fields.invalid(
                    where("compute_kernel"),
                    "%s%s for %s"
                        .formatted(
                            kernels.size() > 1 ? "one of " : "", Named.join(kernels), type.label()),
                    name));
  }

  /** Returns the load factor of a cache, which the caching kernel has and no other. */
  private OptionalDouble cacheShare(ComputeKernel kernel, JsonNode params) {
    if (kernel != ComputeKernel.FUSED_UVM_CACHING) {
      if (!isAbsent(params)) {
        throw Fields.invalid(where("cache_params"), "absent but for fused_uvm_caching", params);
      }
      return kernel == ComputeKernel.FUSED_UVM
          ? OptionalDouble.of(TableKernel.NO_CACHE)
          : OptionalDouble.empty();
    }
    JsonNode share = params == null ? null : params.get("load_factor");
    if (share == null || !(share.doubleValue() > 0 && share.doubleValue() <= 1)) {
      throw Fields.invalid(
          where("cache_params"), "an object with a load_factor above 0 and at most 1", params);
    }
    Fields.of(params, where("cache_params"), CACHE_FIELDS);
    return OptionalDouble.of(share.doubleValue());
  }

  private List<ShardMetadata> copy(JsonNode sharding, List<Integer> onRanks) {
    if (!onRanks.equals(IntStream.range(0, ranks.worldSize()).boxed().toList())) {
      throw new IllegalArgumentException(
          "%s must be all, 0 to %d, for data_parallel, got %s"
              .formatted(where("ranks"), ranks.worldSize() - 1, onRanks));
    }
    if (sharding.hasNonNull("shards")) {
      throw Fields.invalid(where("shards"), "absent for data_parallel", sharding.get("shards"));
    }
    long[] size = {table.rows(), table.columns()};
    if (sharding.hasNonNull("size")) {
      size = pair(sharding.get("size"), where("size"));
    }
    return List.of(new ShardMetadata(0, (int) size[1], 0, size[0], Shard.EVERY_DEVICE));
  }

  private List<ShardMetadata> parts(JsonNode sharding, List<Integer> onRanks) {
    if (sharding.hasNonNull("size")) {
      throw Fields.invalid(where("size"), "absent but for data_parallel", sharding.get("size"));
    }
    List<JsonNode> list = Fields.list(sharding.get("shards"), where("shards"));
    if (list.size() != onRanks.size()) {
      throw new IllegalArgumentException(
          "%s must be one for each of the %d shards, got %s"
              .formatted(where("ranks"), list.size(), onRanks));
    }
    List<ShardMetadata> shards = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      String where = where("shards[%d]".formatted(i));
      JsonNode shard = list.get(i);
      Fields.of(shard, where, SHARD_FIELDS);
      long[] offsets = pair(shard.get("shard_offsets"), where + ": shard_offsets");
      long[] sizes = pair(shard.get("shard_sizes"), where + ": shard_sizes");
      int rank = onRanks.get(i);
      checkPlacement(Fields.text(shard.get("placement"), where + ": placement"), rank, where);
      shards.add(new ShardMetadata((int) offsets[1], (int) sizes[1], offsets[0], sizes[0], rank));
    }
    return shards;
  }

  private void checkPlacement(String placement, int rank, String where) {
    int local = ranks.device(rank);
    if (!Pattern.matches("rank:%d/(cpu|[a-z]+:%d)".formatted(rank, local), placement)) {
      throw new IllegalArgumentException(
          "%s: placement must be rank:%d/cpu or rank:%d/cuda:%d on %s of %d devices, got \"%s\""
              .formatted(
                  where,
                  rank,
                  rank,
                  local,
                  ranks.perHost() < ranks.perNode() ? "hosts" : "nodes",
                  ranks.perHost(),
                  placement));
    }
  }

  /** Returns rows and columns. */
  private static long[] pair(JsonNode value, String where) {
    List<JsonNode> list = Fields.list(value, where);
    if (list.size() != 2) {
      throw Fields.invalid(where, "[rows, columns]", value);
    }
    return new long[] {
      Fields.wholeNumber(list.get(0), where, TableSpec.MAX_ROWS),
      Fields.wholeNumber(list.get(1), where, TableSpec.MAX_COLUMNS)
    };
  }

  private String where(String field) {
    return "Table \"%s\"%s".formatted(table.name(), field.isEmpty() ? "" : ": " + field);
  }
}
