package io.shardtide.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.files.MalformedFileException;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.Change;
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
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkloadTaskTest {
  private static final String CLUSTER =
      "{\"devices\":4,\"memoryBytesPerDevice\":1024,\"batchSize\":64,\"hardware\":\"h\"}";
  private static final String TABLE =
      "{\"name\":\"a\",\"rows\":9,\"columns\":8,\"poolingFactor\":2.5}";
  private static final String LINE =
      "{\"task\":\"x\",\"cluster\":%s,\"tables\":[%s]}".formatted(CLUSTER, TABLE);

  @TempDir private Path folder;

  private static String hashed(String storage) {
    return TABLE.replace("}", ",\"storage\":" + storage + "}");
  }

  private Path write(String text) throws IOException {
    return Files.writeString(folder.resolve("workloads.jsonl"), text);
  }

  @Test
  void constraints_have_the_names_of_events_or_those_of_earlier_files() throws IOException {
    String table =
        """
        {"task":"x","cluster":{"devices":4,"memoryBytesPerDevice":1024,"batchSize":64,"hardware":"h"},"tables":[TABLE,\
        {"name":"b","rows":9,"columns":16,"poolingFactor":1,"constraints":{%s}}]}
        """
            .replace("TABLE", TABLE);
    String names =
        "\"leastColumns\":8,\"sameDevicesAs\":\"a\",\"mayBeCached\":false,\"mayHaveHotRows\":false";
    String earlier =
        "\"least_columns\":8,\"same_devices_as\":\"a\",\"may_be_cached\":false,\"may_have_hot_rows\":false";
    TableConstraints expected = new TableConstraints(Set.of(), 8, Optional.of("a"), false, false);
    for (String given : List.of(names, earlier)) {
      WorkloadTask task = WorkloadTask.read(write(table.formatted(given))).get(0);
      assertThat(task.tables().get(1).constraints()).isEqualTo(expected);
    }
  }

  @Test
  void reads_each_field() throws IOException {
    String reuse = Collections.nCopies(16, 0.0).toString();
    Path file =
        write(
            LINE
                + "\n"
                + """
                {"task":"16x0","cluster":{"devices":16,"devicesPerNode":8,"memoryBytesPerDevice":1024,\
                "batchSize":64,"hardware":"h","hostMemoryBytesPerDevice":2048,"replicaGroups":[2,1],"synchronizationSteps":10,\
                "reservedMemoryBytesPerDevice":512,"countsStepMemory":true,\
                "forwardBytesPerElement":2,"backwardBytesPerElement":1,"codecs":[{"name":"top",\
                "directions":["forward"],"bytesPerElement":8,"gigabytesPerSecond":100,"density":0.1,\
                "canBeSummed":false},{"name":"fp16","bytesPerElement":2}],"optimizer":"sgd",\
                "pipeline":"none","memoryBytesByDevice":[{"device":15,"bytes":2048},{"device":0,"bytes":1024}],\
                "devicesPerHost":4},"tables":[{"name":"b","rows":9,\
                "columns":8,"poolingFactor":0,"reuseHistogram":[1, REUSE,"accessCdf":[0.5,0.75,1],\
                "bytesPerElement":2,"optimizerBytesPerElement":8,"optimizerBytesPerRow":4,"optimizer":"adam","enforceHbm":true,\
                "kernel":{"computeKernel":"fused_uvm_caching","cacheLoadFactor":0.5,"cacheAlgorithm":"LFU",\
                "outputType":"BF16","stochasticRounding":false},\
                "storage":{"ids":5,"idsPerDay":0.5,"slotBytes":24,"eviction":"age","hitShares":[0.25,0.5,1],\
                "resizeReason":"full"},\
                "constraints":{"kinds":["row_wise","table_wise"],"leastColumns":8,"sameDevicesAs":"a"}},TABLE]}
                """
                    .replace("REUSE", reuse.substring(1))
                    .replace("TABLE", TABLE));
    List<WorkloadTask> tasks = WorkloadTask.read(file);
    assertThat(tasks).hasSize(2);
    TableSpec a = new TableSpec("a", 9, 8, 2.5, ReuseHistogram.UNKNOWN, 4);
    assertThat(tasks.get(0))
        .isEqualTo(new WorkloadTask("x", List.of(a), new ClusterSpec(4, 1024, 64, 4, "h")));
    List<Double> shares = new ArrayList<>(Collections.nCopies(17, 0.0));
    shares.set(0, 1.0);
    TableSpec b =
        TableSpecBuilder.builder(new TableSpec("b", 9, 8, 0, new ReuseHistogram(shares), 2))
            .accessCdf(new AccessCdf(List.of(0.5, 0.75, 1.0)))
            .optimizerBytesPerElement(8)
            .optimizerBytesPerRow(4)
            .constraints(
                new TableConstraints(
                    Set.of(ShardKind.TABLE_WISE, ShardKind.ROW_WISE), 8, Optional.of("a")))
            .optimizer(Optional.of(Optimizer.ADAM))
            .enforceHbm(true)
            .kernel(
                new TableKernel(
                    Optional.of(ComputeKernel.FUSED_UVM_CACHING),
                    OptionalDouble.of(0.5),
                    Optional.of(CacheAlgorithm.LFU),
                    Optional.of(OutputType.BF16),
                    Optional.of(false)))
            .storage(
                Optional.of(
                    new HashedStorage(
                        5,
                        0.5,
                        24,
                        Eviction.AGE,
                        new AccessCdf(List.of(0.25, 0.5, 1.0)),
                        Optional.of("full"))))
            .build();
    assertThat(tasks.get(1))
        .isEqualTo(
            new WorkloadTask(
                "16x0",
                List.of(b, a),
                ClusterSpecBuilder.builder(new ClusterSpec(16, 1024, 64, 8, "h"))
                    .hostMemoryBytesPerDevice(2048)
                    .reservedMemoryBytesPerDevice(512)
                    .countsStepMemory(true)
                    .forwardBytesPerElement(2)
                    .backwardBytesPerElement(1)
                    .replicaGroups(List.of(1, 2))
                    .synchronizationSteps(10)
                    .codecs(
                        List.of(
                            new CommCodec("fp16", 2),
                            new CommCodec("top", 8, 100, 0.1, false, List.of(Direction.FORWARD))))
                    .optimizer(Optional.of(Optimizer.SGD))
                    .pipeline(Optional.of(TrainingPipeline.NONE))
                    .memoryBytesByDevice(List.of(new DeviceMemory(15, 2048)))
                    .devicesPerHost(4)
                    .build()));
    assertThat(tasks.get(1).tables().get(1).optimizer())
        .as("the cluster's")
        .contains(Optimizer.SGD);
  }

  @Test
  void a_table_has_the_lookups_of_its_features() throws IOException {
    String table =
        """
        {"name":"a","rows":9,"columns":8,"idWeights":"learned","features":[{"name":"f","poolingFactor":20,\
        "batchShare":0.5,"duplicates":4},{"name":"g","poolingFactor":3}]}
        """;
    TableSpec read =
        WorkloadTask.read(write(LINE.replace(TABLE, table.strip()))).get(0).tables().get(0);
    TableSpec expected =
        new TableSpec("a", 9, 8, 1, ReuseHistogram.UNKNOWN, 4)
            .withFeatures(List.of(new TableFeature("f", 20, 0.5, 4), new TableFeature("g", 3)));
    assertThat(read.poolingFactor()).isEqualTo(5.5);
    assertThat(read)
        .isEqualTo(
            TableSpecBuilder.builder(expected).idWeights(Optional.of(IdWeights.LEARNED)).build());
  }

  /** Events have the same fields and, but for {@code devicesPerNode}, the same defaults. */
  @Test
  void defaults_are_those_of_events() throws IOException {
    String event =
        """
        {"eventId":"00000000-0000-0001-0000-000000000002","workloadId":"w","occurredAt":0,"source":"s",\
        "expectedGeneration":null,"changes":[{"io.shardtide.avro.ClusterSet":{"cluster":C}},\
        {"io.shardtide.avro.TableUpserted":{"table":T}}]}
        """
            .replace("C}", CLUSTER.replace("{", "{\"devicesPerNode\":4,") + "}")
            .replace("T}", hashed("{\"io.shardtide.avro.HashedStorage\":{}}") + "}");
    WorkloadChange change = new JsonLines<>(Codec.WORKLOAD_CHANGE).read(event);
    WorkloadTask task = WorkloadTask.read(write(LINE.replace(TABLE, hashed("{}")))).get(0);
    assertThat(task.tables().get(0).storage()).contains(HashedStorage.PLAIN);
    assertThat(change.changes())
        .containsExactly(
            new Change.ClusterSet(task.cluster()), new Change.TableUpserted(task.tables().get(0)));
  }

  @Test
  void a_file_without_workloads_is_an_error() throws IOException {
    Path file = write("");
    assertThatThrownBy(() -> WorkloadTask.read(file))
        .isExactlyInstanceOf(MalformedFileException.class)
        .hasMessageStartingWith(file + ": no workloads; expected lines of the form {\"task\":");
  }

  /** In a line, C stands for a legal cluster, T for a legal table. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          {"cluster":C,"tables":[T]}                       | task must be a string, got nothing
          {"task":7,"cluster":C,"tables":[T]}              | task must be a string, got 7
          {"task":"x","tables":[T]}                        | cluster must be an object, got nothing
          {"task":"x","cluster":[],"tables":[T]}           | cluster must be an object, got []
          {"task":"x","cluster":C}                         | tables must have at least one table, got none
          {"task":"x","cluster":C,"tables":[]}             | tables must have at least one table, got none
          {"task":"x","cluster":C,"tables":[T,7]}          | tables[1] must be an object, got 7
          {"task":"x","cluster":C,"tables":[T,T]}          | tables[1]: name must be unique, got "a" as in tables[0]
          {"task":"x","cluster":C,"tables":[T],"seed":[7]} | unknown field "seed": [7]; expected task, cluster, tables
          {"task":"x","cluster":C,"tables":[T]             | invalid JSON: the line ends within a value
          {"task":"x","task":"y","cluster":C,"tables":[T]} | invalid JSON: Duplicate field 'task'
          []                                               | a line must be one JSON object, got []
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8}]} | tables[0]: poolingFactor must be a number, got nothing
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"poolingFactor":1}]} | tables[0]: columns must be a whole number below 2^31, got nothing
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":6,"poolingFactor":1}]} | tables[0]: columns of table "b" must be a multiple of 4 between 4 and 4096, got 6
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":"9","columns":8,"poolingFactor":1}]} | tables[0]: rows must be a whole number below 2^63, got "9"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"rows":9,"columns":8,"poolingFactor":1}]} | invalid JSON: Duplicate field 'rows'
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":0,"columns":8,"poolingFactor":1}]} | tables[0]: rows of table "b" must be between 1 and 2^36, got 0
          {"task":"x","cluster":C,"tables":[T,{"name":"b","row":9}]} | tables[1]: unknown field "row": 9. Maybe rows; expected name, rows, columns, poolingFactor, reuseHistogram, bytesPerElement, accessCdf, optimizerBytesPerElement, optimizerBytesPerRow, constraints, pooled, optimizer, enforceHbm, features, idWeights, kernel, storage, distinctShare, deduplicated, rowSpread
          {"task":"x","cluster":C,"tables":[T,{"name":"b","rows":9,"columns":8,"poolingFactor":1,"storage":{"slots":9}}]} | tables[1]: storage: unknown field "slots": 9; expected ids, idsPerDay, slotBytes, eviction, hitShares, resizeReason
          {"task":"x","cluster":C,"tables":[T,{"name":"b","rows":9,"columns":8,"poolingFactor":1,"storage":{"eviction":"fifo"}}]} | tables[1]: storage: eviction must be one of none, lru, lfu, age, got "fifo"
          {"task":"x","cluster":C,"tables":[T,{"name":"b","rows":9,"columns":8,"poolingFactor":1,"storage":{},"constraints":{"kinds":["data_parallel"]}}]} | tables[1]: constraints of hashed table "b" must allow a kind other than data_parallel, since each copy would store other ids; got data_parallel
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"accessCdf":[1]}]} | tables[0]: entries of the access CDF of table "b" must be 3 for its 9 rows, got 1
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"reuseHistogram":[1]}]} | tables[0]: reuse histogram must have 17 shares between 0 and 1 that sum to 1, or none if unknown, got 1 shares
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"bytesPerElement":0}]} | tables[0]: bytes per element of table "b" must be above 0 and at most 64, got 0.0
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":7}]} | tables[0]: constraints must be an object, got 7
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"kind":[]}}]} | tables[0]: constraints: unknown field "kind": []. Maybe kinds; expected kinds, leastColumns, sameDevicesAs, mayBeCached, mayHaveHotRows
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"kinds":"row_wise"}}]} | tables[0]: constraints: kinds must be a list, each one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got "row_wise"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"kinds":[7]}}]} | tables[0]: constraints: kinds[0] must be one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got 7
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"kinds":["rows"]}}]} | tables[0]: constraints: kinds[0] must be one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got "rows"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"leastColumns":-1}}]} | tables[0]: constraints: least columns of a table's constraints must be between 0 and 4096, got -1
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"leastColumns":8,"least_columns":4}}]} | tables[0]: constraints: leastColumns must be given under one name, got "least_columns"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"sameDevicesAs":"b"}}]} | tables[0]: constraints of table "b" must name another table for the same devices, got the table itself
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"constraints":{"sameDevicesAs":"c"}}]} | tables[0]: constraints: sameDevicesAs must be the name of a table, got "c"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"pooled":false,"constraints":{"kinds":["grid_shard"]}}]} | tables[0]: constraints of unpooled table "b" contradict each other: it may only be grid_shard, as only pooled tables can be; expected another kind
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"optimizer":"Adam"}]} | tables[0]: optimizer must be one of sgd, rowwise_adagrad, adagrad, adam, partial_rowwise_adam, lamb, got "Adam"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"enforceHbm":1}]} | tables[0]: enforceHbm must be true or false, got 1
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"kernel":{"computeKernel":"key_value"}}]} | tables[0]: kernel: computeKernel must be one of dense, fused, fused_uvm, fused_uvm_caching, got "key_value"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"kernel":{"cacheLoadFactor":2}}]} | tables[0]: kernel: cache load factor of a table must be above 0 and at most 1, got 2.0
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"kernel":{"outputType":"FP8"}}]} | tables[0]: kernel: outputType must be one of FP32, FP16, BF16, INT8, got "FP8"
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"kernel":{"enforceHbm":true}}]} | tables[0]: kernel: unknown field "enforceHbm": true; expected computeKernel, cacheLoadFactor, cacheAlgorithm, outputType, stochasticRounding
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"features":[]}]} | tables[0]: poolingFactor must be a number, got nothing
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"features":[{"name":"f"}]}]} | tables[0]: features[0]: poolingFactor must be a number, got nothing
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"features":[{"name":"f","poolingFactor":1,"batch":2}]}]} | tables[0]: features[0]: unknown field "batch": 2; expected name, poolingFactor, batchShare, duplicates
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"features":[{"name":"f","poolingFactor":1,"batchShare":0}]}]} | tables[0]: features[0]: batch share of feature "f" must be above 0 and at most 1000, got 0.0
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"features":[{"name":"f","poolingFactor":1,"duplicates":NaN}]}]} | tables[0]: features[0]: duplicates must be a number, got NaN
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":2,"features":[{"name":"f","poolingFactor":1,"batchShare":0.5}]}]} | tables[0]: pooling factor of table "b" must be 0.5, the sum over its features of poolingFactor * batchShare / duplicates, got 2.0
          {"task":"x","cluster":C,"tables":[{"name":"b","rows":9,"columns":8,"poolingFactor":1,"idWeights":"some"}]} | tables[0]: idWeights must be one of given, learned, got "some"
          {"task":"x","cluster":{"devices":0,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h"},"tables":[T]} | cluster: devices of a cluster must be between 1 and 16384, got 0
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":1.5},"tables":[T]} | cluster: memoryBytesPerDevice must be a whole number below 2^63, got 1.5
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9},"tables":[T]} | cluster: batchSize must be a whole number below 2^31, got nothing
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8},"tables":[T]} | cluster: hardware must be a string, got nothing
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":" "},"tables":[T]} | cluster: name of the hardware must have 1 to 255 characters, none of them a control character, got " ": it is empty
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","devicesPerNode":0},"tables":[T]} | cluster: devices per node of a cluster must be between 1 and 2147483647, got 0
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","reservedMemoryBytesPerDevice":9},"tables":[T]} | cluster: reserved bytes of memory per device of a cluster must be between 0 and 8, got 9
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","countsStepMemory":1},"tables":[T]} | cluster: countsStepMemory must be true or false, got 1
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","forwardBytesPerElement":9},"tables":[T]} | cluster: forward bytes per element of a cluster must be above 0 and at most 8, got 9.0
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","codecs":[{"name":"fp16"}]},"tables":[T]} | cluster: codecs[0]: bytesPerElement must be a number, got nothing
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","codecs":[{"name":"fp16","bytesPerElement":2,"directions":["up"]}]},"tables":[T]} | cluster: codecs[0]: directions[0] must be one of forward, backward, got "up"
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","codecs":[{"name":"fp16","bytes":2}]},"tables":[T]} | cluster: codecs[0]: unknown field "bytes": 2; expected name, bytesPerElement, gigabytesPerSecond, density, canBeSummed, directions
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","countsStepMemory":true,"pipeline":"fast"},"tables":[T]} | cluster: pipeline must be one of none, sparse_dist, prefetch, got "fast"
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","pipeline":"prefetch"},"tables":[T]} | cluster: countsStepMemory of a cluster must be true if it names a pipeline, whose memory would not be counted otherwise, got false with pipeline prefetch
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","memoryBytesByDevice":[{"device":2,"bytes":9}]},"tables":[T]} | cluster: device with memory of its own of a cluster must be between 0 and 1, got 2
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","memoryBytesByDevice":[{"device":1}]},"tables":[T]} | cluster: memoryBytesByDevice[0]: bytes must be a whole number below 2^63, got nothing
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h","devicesPerHost":4},"tables":[T]} | cluster: devices per host of a cluster must be a divisor of its 2 devices per node, or 0 where a node is a host, got 4
          {"task":"x","cluster":{"gpus":4},"tables":[T]} | cluster: unknown field "gpus": 4; expected devices, memoryBytesPerDevice, batchSize, devicesPerNode, hardware, hostMemoryBytesPerDevice, reservedMemoryBytesPerDevice, countsStepMemory, forwardBytesPerElement, backwardBytesPerElement, replicaGroups, synchronizationSteps, codecs, optimizer, pipeline, memoryBytesByDevice, devicesPerHost
          """)
  void errors_name_the_line_the_field_and_the_value(String line, String message)
      throws IOException {
    String wrong =
        line.replace("\"cluster\":C", "\"cluster\":" + CLUSTER)
            .replace("[T", "[" + TABLE)
            .replace(",T]", "," + TABLE + "]");
    Path file = write(LINE + "\n" + wrong + "\n");
    assertThatThrownBy(() -> WorkloadTask.read(file))
        .isExactlyInstanceOf(MalformedFileException.class)
        .hasMessage("%s line 2: %s", file, message);
  }
}
