package io.shardtide.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.SearchSettingsBuilder;
import io.shardtide.pool.PoolNode;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.DeviceMemory;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.Set;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RecordTextTest {
  private static final String TABLE = "name=a rows=10 columns=8 poolingFactor=2";
  private static final String CLUSTER = "devices=9 memoryGib=80 batchSize=64 hardware=h100";

  private static <T extends Record> T of(Class<T> type, String pairs) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    for (String pair : pairs.split(" ", -1)) {
      String[] parts = pair.split("=", 2);
      RecordText.set(type, json, parts[0], parts[1]);
    }
    return RecordText.read(type, json);
  }

  private static TableSpec table(String pairs) {
    return of(TableSpec.class, pairs);
  }

  private static ClusterSpec cluster(String pairs) {
    return of(ClusterSpec.class, pairs);
  }

  @Test
  void what_is_left_out_has_its_default() {
    assertThat(table("name=a rows=1e1 columns=8 poolingFactor=2.5"))
        .isEqualTo(new TableSpec("a", 10, 8, 2.5, ReuseHistogram.UNKNOWN, 4));
    assertThat(cluster(CLUSTER)).isEqualTo(new ClusterSpec(9, 80 * Fixtures.GIB, 64, 9, "h100"));
    // The name is a name, whatever it looks like.
    assertThat(table(TABLE + " name=12").name()).isEqualTo("12");
  }

  @Test
  void every_field_of_a_table_can_be_set() {
    assertThat(
            table(
                TABLE
                    + " bytesPerElement=2 optimizerBytesPerElement=8 optimizerBytesPerRow=0.5"
                    + " optimizer=partial_rowwise_adam enforceHbm=true"
                    + " computeKernel=fused_uvm_caching kernel.cacheLoadFactor=0.25"
                    + " cacheAlgorithm=LFU outputType=fp16 stochasticRounding=false"
                    + " idWeights=given kinds=row_wise+column_wise constraints.leastColumns=4"
                    + " sameDevicesAs=b"))
        .isEqualTo(
            TableSpecBuilder.builder(new TableSpec("a", 10, 8, 2, ReuseHistogram.UNKNOWN, 2))
                .optimizerBytesPerElement(8)
                .optimizerBytesPerRow(0.5)
                .optimizer(Optional.of(Optimizer.PARTIAL_ROWWISE_ADAM))
                .enforceHbm(true)
                .idWeights(Optional.of(IdWeights.GIVEN))
                .constraints(
                    new TableConstraints(
                        Set.of(ShardKind.ROW_WISE, ShardKind.COLUMN_WISE), 4, Optional.of("b")))
                .kernel(
                    new TableKernel(
                        Optional.of(ComputeKernel.FUSED_UVM_CACHING),
                        OptionalDouble.of(0.25),
                        Optional.of(CacheAlgorithm.LFU),
                        Optional.of(OutputType.FP16),
                        Optional.of(false)))
                .build());
    assertThat(table(TABLE + " ids=12 idsPerDay=0.5 slotBytes=8 storage.eviction=lfu").storage())
        .contains(new HashedStorage(12, 0.5, 8, Eviction.LFU, AccessCdf.UNKNOWN, Optional.empty()));
    assertThat(table(TABLE + " eviction=none")).isEqualTo(Fixtures.hashed("a", 10, 8, 2));
    assertThat(
            table(
                    "name=a rows=10 columns=8 features[f].poolingFactor=20 features[g].poolingFactor=3 features[f].duplicates=4")
                .features())
        .containsExactly(new TableFeature("f", 20, 1, 4), new TableFeature("g", 3));
    assertThat(table(TABLE + " optimizer=none").optimizer()).isEmpty();
  }

  @Test
  void every_field_of_a_cluster_can_be_set() {
    assertThat(
            cluster(
                CLUSTER
                    + " devicesPerNode=3 hostMemoryGib=0.5 reservedMemoryGib=4"
                    + " countsStepMemory=true forwardBytesPerElement=2 backwardBytesPerElement=1.5"
                    + " replicaGroups=3+1 synchronizationSteps=50 optimizer=lamb"
                    + " pipeline=sparse_dist devicesPerHost=1 codecs[fp16].bytesPerElement=2"
                    + " codecs[top].bytesPerElement=8 codecs[top].density=0.1"
                    + " codecs[top].directions=backward"
                    + " memoryBytesByDevice=[{\"device\":1,\"bytes\":85899345921}]"))
        .isEqualTo(
            ClusterSpecBuilder.builder(new ClusterSpec(9, 80 * Fixtures.GIB, 64, 3, "h100"))
                .hostMemoryBytesPerDevice(Fixtures.GIB / 2)
                .reservedMemoryBytesPerDevice(4 * Fixtures.GIB)
                .countsStepMemory(true)
                .forwardBytesPerElement(2)
                .backwardBytesPerElement(1.5)
                .replicaGroups(List.of(1, 3))
                .synchronizationSteps(50)
                .codecs(
                    List.of(
                        new CommCodec("fp16", 2),
                        new CommCodec("top", 8, 0, 0.1, true, List.of(Direction.BACKWARD))))
                .optimizer(Optional.of(Optimizer.LAMB))
                .pipeline(Optional.of(TrainingPipeline.SPARSE_DIST))
                .memoryBytesByDevice(List.of(new DeviceMemory(1, 85_899_345_921L)))
                .devicesPerHost(1)
                .build());
  }

  @Test
  void others_values_stay() {
    ClusterSpec cluster = cluster(CLUSTER + " codecs[fp16].bytesPerElement=2 devicesPerNode=1");
    assertThat(RecordText.with(cluster, Map.of("batchSize", "128", "codecs[fp16].density", "0.5")))
        .isEqualTo(
            ClusterSpecBuilder.builder(cluster)
                .batchSize(128)
                .codecs(
                    List.of(
                        new CommCodec(
                            "fp16", 2, 0, 0.5, true, cluster.codecs().get(0).directions())))
                .build());
    assertThat(RecordText.with(cluster, Map.of("codecs", "none")).codecs()).isEmpty();
    assertThat(RecordText.with(SearchSettings.DEFAULTS, Map.of("risk", "0.5")))
        .isEqualTo(SearchSettingsBuilder.builder(SearchSettings.DEFAULTS).risk(0.5).build());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          rows=many              | rows must be a whole number below 2^63, got "many"
          rows=NaN               | rows must be a whole number below 2^63, got NaN
          rows=1.5               | rows must be a whole number below 2^63, got 1.5
          poolingFactor=NaN      | poolingFactor must be a number, got NaN
          colour=red             | unknown field "colour": "red"; expected name, rows, columns
          row=3                  | unknown field "row": 3. Maybe rows; expected name, rows
          constraints.least=4    | unknown field "least": 4; expected kinds, leastColumns
          enforceHbm=yes         | enforceHbm must be true or false, got "yes"
          enforceHbm=            | enforceHbm must be true or false, got ""
          kinds=row_wise+rows    | kinds[1] must be one of table_wise, column_wise
          kinds=                 | kinds[0] must be one of table_wise
          optimizer=fast         | optimizer must be one of sgd, rowwise_adagrad
          eviction=fifo          | eviction must be one of none, lru, lfu, age, got "fifo"
          ids=-1                 | ids of a hashed table must be between 0 and 2^36, got -1
          sameDevicesAs=a        | constraints of table "a" must name another table for the same devices
          features=f             | features[0]
          features[f].lookups=3  | unknown field "lookups": 3; expected name, poolingFactor
          rows.x=3               | "rows.x" is no path to a field of rows
          features[f]=3          | "features[f]" is no path to a field of features
          rows[3].x=3            | "rows[3].x" is no path to a field of rows
          a-b=3                  | a path must be names joined by dots
          """)
  void a_wrong_value_of_a_table_is_named(String pair, String problem) {
    assertThatThrownBy(() -> table(TABLE + " " + pair))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(problem);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          memoryGib=much        | memoryGib must be a number, got "much"
          memoryGib=NaN         | memoryGib must be a number, got "NaN"
          devicesPerNode=1.5    | devicesPerNode must be a whole number below 2^31, got 1.5
          replicaGroups=1+x     | replicaGroups[1] must be a whole number below 2^31, got "x"
          pipeline=fast         | pipeline must be one of none, sparse_dist, prefetch, got "fast"
          codecs[f].density=1.5 | bytesPerElement must be a number, got nothing
          reservedMemoryGib=80  | reserved bytes of memory per device of a cluster must be between 0 and 85899345919, got 85899345920
          """)
  void a_wrong_value_of_a_cluster_is_named(String pair, String problem) {
    assertThatThrownBy(() -> cluster(CLUSTER + " " + pair))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(problem);
  }

  private static <E extends Enum<E>> Optional<E> any(Random random, Class<E> type) {
    E[] all = type.getEnumConstants();
    return random.nextBoolean() ? Optional.empty() : Optional.of(all[random.nextInt(all.length)]);
  }

  private static TableSpec table(Random random, String name) {
    long rows = 1L + random.nextInt(1_000);
    List<TableFeature> features =
        IntStream.range(0, random.nextInt(3))
            .mapToObj(f -> new TableFeature("f,=.] " + f, 1 + random.nextInt(9), 0.5, 1.25))
            .toList();
    Set<ShardKind> kinds = EnumSet.noneOf(ShardKind.class);
    if (random.nextBoolean()) {
      kinds.add(ShardKind.ROW_WISE);
      kinds.add(ShardKind.TABLE_WISE);
    }
    TableSpec table =
        TableSpecBuilder.builder(
                new TableSpec(name, rows, 8, random.nextInt(7), ReuseHistogram.UNKNOWN, 4))
            .bytesPerElement(random.nextDouble() + 0.1)
            .optimizer(any(random, Optimizer.class))
            .enforceHbm(random.nextBoolean())
            .constraints(
                new TableConstraints(
                    kinds,
                    random.nextInt(2) * 4,
                    Optional.empty(),
                    random.nextBoolean(),
                    random.nextBoolean()))
            .accessCdf(
                random.nextBoolean()
                    ? AccessCdf.UNKNOWN
                    : new AccessCdf(
                        DoubleStream.iterate(1, share -> share)
                            .limit(AccessCdf.size(rows))
                            .boxed()
                            .toList()))
            .build();
    return features.isEmpty() ? table : table.withFeatures(features);
  }

  private static ClusterSpec cluster(Random random) {
    int devices = 2 * (1 + random.nextInt(8));
    return ClusterSpecBuilder.builder(
            new ClusterSpec(
                devices,
                1 + random.nextInt(1 << 30),
                64,
                random.nextBoolean() ? 1 : devices,
                "h, \u00fc"))
        .replicaGroups(random.nextBoolean() ? List.of(1, 2) : ClusterSpec.ONE_GROUP)
        .forwardBytesPerElement(0.5 + random.nextInt(4))
        .optimizer(any(random, Optimizer.class))
        .codecs(
            random.nextBoolean()
                ? List.of()
                : List.of(new CommCodec("c.1", 2, 0.5, 0.25, false, List.of(Direction.FORWARD))))
        .memoryBytesByDevice(
            random.nextBoolean()
                ? List.of()
                : List.of(new DeviceMemory(random.nextInt(devices), 7)))
        .build();
  }

  @Test
  void names_of_earlier_files_are_read() {
    ObjectNode json =
        RecordText.parse(
            """
            {"task":"w","tables":[{"name":"a","rows":1,"columns":8,"pooling_factor":2,
             "constraints":{"least_columns":4},"kernel":{"cache_load_factor":0.5}}],
             "cluster":{"devices":2,"memory_bytes_per_device":9,"batch_size":8,"hardware":"h"}}
            """);
    assertThat(RecordText.read(WorkloadSpec.class, json))
        .isEqualTo(
            of(
                WorkloadSpec.class,
                "task=w tables[a].rows=1 tables[a].columns=8 tables[a].poolingFactor=2"
                    + " tables[a].leastColumns=4 tables[a].cacheLoadFactor=0.5 cluster.devices=2"
                    + " cluster.memoryBytesPerDevice=9 cluster.batchSize=8 cluster.hardware=h"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"node":[]}                       | unknown field "node": []. Maybe nodes; expected devicesPerNode
          {"nodes":[{"name":"n","rac":1}]}  | nodes[0]: unknown field "rac": 1. Maybe rack; expected name, rack
          {"nodes":[{"name":"n"},7]}        | nodes[1] must be an object, got 7
          {"nodes":[{"rack":"r"}]}          | nodes[0]: name must be a string, got nothing
          {"nodes":[],"nodes":[]}           | invalid JSON: Duplicate field 'nodes'
          {"nodes":[{"name":"n","name":""}]} | invalid JSON: Duplicate field 'name'
          {"devicesPerNode":"8"}            | devicesPerNode must be a whole number below 2^31, got "8"
          {"devicesPerNode":NaN}            | devicesPerNode must be a whole number below 2^31, got NaN
          {"links":7}                       | links must be an object, got 7
          {"links":{"matrix":{}}}           | links: matrix must be a list, each a list, got {}
          {"links":{"matrix":[[0,4],{}]}}   | links: matrix[1] must be a list, each a number, got {}
          {"links":{"matrix":[[0,NaN]]}}    | links: matrix[0][1] must be a number, got NaN
          {"links":{"matrix":[[0,null]]}}   | links: matrix[0][1] must be a number, got null
          {"links":{"matrix":[[0,"4"]]}}    | links: matrix[0][1] must be a number, got "4"
          {"links":{"withinRacks":NaN}}     | links: withinRacks must be a number, got NaN
          {"links":{"racks":[{"rak":"a"}]}} | links: racks[0]: unknown field "rak": "a". Maybe rack; expected rack, otherRack
          """)
  void a_wrong_field_of_a_pool_is_named(String fields, String problem) {
    String line = fields.replaceFirst("\\}$", "");
    for (String field :
        List.of("memoryBytesPerDevice\":9", "hardware\":\"h\"", "devicesPerNode\":8")) {
      line += line.contains(field.substring(0, 8)) ? "" : ",\"" + field;
    }
    String pool = line + "}";
    assertThatThrownBy(() -> RecordText.read(PoolSpec.class, RecordText.parse(pool)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(problem);
  }

  private static PoolSpec pool(Random random) {
    List<PoolNode> nodes =
        IntStream.range(0, 1 + random.nextInt(4))
            .mapToObj(n -> new PoolNode("n, " + n, random.nextBoolean() ? "" : "r=" + n))
            .toList();
    List<List<Double>> matrix =
        nodes.stream()
            .map(from -> nodes.stream().map(to -> random.nextInt(9) / 4.0).toList())
            .toList();
    List<PoolSpec.RackLink> racks =
        nodes.stream()
            .map(node -> new PoolSpec.RackLink(node.name(), "r", random.nextDouble()))
            .toList();
    List<String> names = nodes.stream().map(PoolNode::name).toList();
    return new PoolSpec(
        1 + random.nextInt(9),
        1 + random.nextInt(1 << 30),
        random.nextInt(9),
        "h\u00fc",
        nodes,
        switch (random.nextInt(3)) {
          case 0 -> Optional.empty();
          case 1 -> Optional.of(new PoolSpec.Links(0, 0, List.of(), names, matrix));
          default -> Optional.of(new PoolSpec.Links(2.5, 0.5, racks, List.of(), List.of()));
        });
  }

  /** As a line of JSON, and value by value. */
  @Property(tries = 100)
  void a_pool_that_is_written_is_read(@ForAll long seed) throws Exception {
    PoolSpec pool = pool(new Random(seed));
    ObjectNode written = RecordText.write(pool);
    String line = new ObjectMapper().writeValueAsString(written);
    assertThat(RecordText.read(PoolSpec.class, RecordText.parse(line))).isEqualTo(pool);
    ObjectNode set = JsonNodeFactory.instance.objectNode();
    written
        .properties()
        .forEach(
            field -> {
              if (field.getValue().isObject()) {
                field
                    .getValue()
                    .properties()
                    .forEach(
                        inner ->
                            RecordText.set(
                                PoolSpec.class,
                                set,
                                field.getKey() + "." + inner.getKey(),
                                inner.getValue().toString()));
              } else {
                RecordText.set(
                    PoolSpec.class,
                    set,
                    field.getKey(),
                    field.getValue().isTextual()
                        ? field.getValue().textValue()
                        : field.getValue().toString());
              }
            });
    assertThat(RecordText.read(PoolSpec.class, set)).isEqualTo(pool);
  }

  /** As a line of JSON, and value by value. */
  @Property(tries = 300)
  void what_is_written_is_read(@ForAll long seed) throws Exception {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    IntStream.range(0, random.nextInt(4)).forEach(t -> tables.add(table(random, "t " + t)));
    WorkloadSpec workload =
        new WorkloadSpec(
            "w\u202f" + seed,
            random.nextBoolean() ? Optional.empty() : Optional.of(cluster(random)),
            tables);
    String line = new ObjectMapper().writeValueAsString(RecordText.write(workload));
    assertThat(RecordText.read(WorkloadSpec.class, RecordText.parse(line))).isEqualTo(workload);
    ObjectNode set = JsonNodeFactory.instance.objectNode();
    RecordText.set(WorkloadSpec.class, set, "task", workload.task());
    for (TableSpec table : tables) {
      RecordText.write(table)
          .properties()
          .forEach(
              field -> {
                if (field.getValue().isValueNode() || field.getValue().isArray()) {
                  RecordText.set(
                      WorkloadSpec.class,
                      set,
                      "tables[%s].%s".formatted(table.name(), field.getKey()),
                      field.getValue().isTextual()
                          ? field.getValue().textValue()
                          : field.getValue().toString());
                } else {
                  set.withArrayProperty("tables");
                  ((ObjectNode) set.path("tables").get(set.path("tables").size() - 1))
                      .set(field.getKey(), field.getValue());
                }
              });
    }
    assertThat(RecordText.read(WorkloadSpec.class, set).tables()).isEqualTo(tables);
  }
}
