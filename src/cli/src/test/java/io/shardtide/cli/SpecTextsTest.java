package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.testing.Fixtures;
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
import io.shardtide.workload.Named;
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
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpecTextsTest {
  private static final String TABLE = "name=a,rows=10,columns=8,poolingFactor=2";
  private static final String CLUSTER = "devices=9,memoryGib=80,batchSize=64,hardware=h100";

  @Test
  void what_is_left_out_has_its_default() {
    assertThat(SpecTexts.table("name=a,rows=10,columns=8,poolingFactor=2.5"))
        .isEqualTo(new TableSpec("a", 10, 8, 2.5, ReuseHistogram.UNKNOWN, 4));
    assertThat(SpecTexts.cluster(CLUSTER))
        .isEqualTo(new ClusterSpec(9, 80 * Fixtures.GIB, 64, 9, "h100"));
  }

  @Test
  void a_resize_has_a_name_and_rows() {
    assertThat(SpecTexts.resize("a=5000000000", "full"))
        .isEqualTo(new Change.TableResized("a", 5_000_000_000L, "full"));
    assertThat(SpecTexts.resize("a=b = 7", "")).isEqualTo(Fixtures.resize("a=b", 7, ""));
    for (String wrong : List.of("a", "=7", "a=", "a=1e6", "a=7.0", "")) {
      assertThatThrownBy(() -> SpecTexts.resize(wrong, ""))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "a resize must be NAME=ROWS, such as user=2000000, got \"%s\"".formatted(wrong));
    }
    assertThatThrownBy(() -> SpecTexts.resize("a=0", ""))
        .hasMessage("rows of table \"a\" must be between 1 and 2^36, got 0");
  }

  @Test
  void wrong_storage_is_refused() {
    assertThatThrownBy(() -> SpecTexts.table(TABLE + ",eviction=fifo"))
        .hasMessageEndingWith(": eviction must be one of none, lru, lfu, age, got \"fifo\"");
    assertThatThrownBy(() -> SpecTexts.table(TABLE + ",ids=-1"))
        .hasMessage("ids of a hashed table must be between 0 and 2^36, got -1");
    assertThatThrownBy(() -> SpecTexts.table(TABLE + ",resizeReason=x"))
        .hasMessageContaining("resizeReason");
  }

  @Test
  void the_help_names_each_optimizer() {
    String all = String.join(", ", Named.labels(Optimizer.class));
    assertThat(SpecTexts.TABLE_KEYS).contains(all);
    assertThat(SpecTexts.CLUSTER_KEYS).contains(all);
  }

  @Test
  void every_field_but_lists_can_be_set() {
    assertThat(
            SpecTexts.table(
                "name=a,rows=10,columns=8,poolingFactor=2,bytesPerElement=2,"
                    + "optimizerBytesPerElement=8,optimizerBytesPerRow=0.5,optimizer=partial_rowwise_adam,"
                    + "enforceHbm=true,computeKernel=fused_uvm_caching,cacheLoadFactor=0.25,"
                    + "cacheAlgorithm=LFU,outputType=fp16,stochasticRounding=false"))
        .isEqualTo(
            TableSpecBuilder.builder(new TableSpec("a", 10, 8, 2, ReuseHistogram.UNKNOWN, 2))
                .optimizerBytesPerElement(8)
                .optimizerBytesPerRow(0.5)
                .optimizer(Optional.of(Optimizer.PARTIAL_ROWWISE_ADAM))
                .enforceHbm(true)
                .kernel(
                    new TableKernel(
                        Optional.of(ComputeKernel.FUSED_UVM_CACHING),
                        OptionalDouble.of(0.25),
                        Optional.of(CacheAlgorithm.LFU),
                        Optional.of(OutputType.FP16),
                        Optional.of(false)))
                .build());
    assertThat(
            SpecTexts.cluster(
                CLUSTER
                    + ",devicesPerNode=3,hostMemoryGib=0.5,reservedMemoryGib=4,countsStepMemory=true,"
                    + "forwardBytesPerElement=2,backwardBytesPerElement=1.5,replicaGroups=3+1,"
                    + "synchronizationSteps=50,optimizer=lamb,pipeline=sparse_dist,"
                    + "memoryGibByDevice=7:40.5+1:96,devicesPerHost=1,"
                    + "codecs=int8:1.25:gbps=400:forward:canBeSummed=false+fp16:2+top:8:density=0.1:backward"))
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
                        new CommCodec("int8", 1.25, 400, 1, false, List.of(Direction.FORWARD)),
                        new CommCodec("top", 8, 0, 0.1, true, List.of(Direction.BACKWARD))))
                .optimizer(Optional.of(Optimizer.LAMB))
                .pipeline(Optional.of(TrainingPipeline.SPARSE_DIST))
                .memoryBytesByDevice(
                    List.of(
                        new DeviceMemory(1, 96 * Fixtures.GIB),
                        new DeviceMemory(7, 81 * Fixtures.GIB / 2)))
                .devicesPerHost(1)
                .build());
    assertThat(SpecTexts.table(TABLE + ",ids=12,idsPerDay=0.5,slotBytes=8,eviction=lfu").storage())
        .contains(new HashedStorage(12, 0.5, 8, Eviction.LFU, AccessCdf.UNKNOWN, Optional.empty()));
    assertThat(SpecTexts.table(TABLE + ",eviction=none")).isEqualTo(Fixtures.hashed("a", 10, 8, 2));
    assertThat(SpecTexts.cluster(CLUSTER + ",memoryGibByDevice=none"))
        .isEqualTo(SpecTexts.cluster(CLUSTER));
    assertThat(SpecTexts.cluster(CLUSTER + ",codecs=none").codecs()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          fp16              | codec "fp16": bytes per element must be given, got none; expected NAME:BYTES with any of :forward, :backward
          fp16:two          | codec "fp16:two": bytesPerElement must be a number, got "two"; expected NAME:BYTES
          fp16:2+int8:1:up  | codec "int8:1:up": "up" is unknown; expected NAME:BYTES
          fp16:2:gbps=x     | codec "fp16:2:gbps=x": gigabytesPerSecond must be a number, got "x"; expected NAME:BYTES
          fp16:2:speed=1    | codec "fp16:2:speed=1": "speed=1" is unknown; expected NAME:BYTES
          fp16:2:canBeSummed=no | canBeSummed must be true or false, got "no"; expected NAME:BYTES
          fp16:             | bytesPerElement must be a number, got ""; expected NAME:BYTES
          fp16:0            | bytes per element of codec "fp16" must be above 0 and at most 8, got 0.0
          fp16:2+fp16:1     | codecs of a cluster must have different names, got "fp16" twice
          top:8:density=1.5 | density of codec "top" must be above 0 and at most 1, got 1.5
          """)
  void a_codec_that_is_none_is_rejected(String codecs, String message) {
    assertThatThrownBy(() -> SpecTexts.cluster(CLUSTER + ",codecs=" + codecs))
        .hasMessageContaining(message);
  }

  @Test
  void a_table_can_have_features() {
    TableSpec table = new TableSpec("a", 10, 8, 2, ReuseHistogram.UNKNOWN, 4);
    List<TableFeature> features =
        List.of(new TableFeature("f", 20, 0.5, 4), new TableFeature("g", 3));
    String text = "name=a,rows=10,columns=8,features=f:20:duplicates=4:batchShare=0.5+g:3";
    TableSpec parsed = SpecTexts.table(text + ",idWeights=given");
    assertThat(parsed.idWeights()).contains(IdWeights.GIVEN);
    assertThat(TableSpecBuilder.builder(parsed).idWeights(Optional.empty()).build())
        .isEqualTo(table.withFeatures(features));
    assertThat(SpecTexts.table(text + ",poolingFactor=5.5"))
        .isEqualTo(table.withFeatures(features));
    assertThat(SpecTexts.table("name=a,rows=10,columns=8,features=f:2")).isEqualTo(table);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          features=f              | feature "f": its lookups must be given, got none; expected NAME:LOOKUPS with any of :batchShare=NUMBER, :duplicates=NUMBER
          features=f:many         | feature "f:many": poolingFactor must be a number, got "many"; expected NAME:LOOKUPS
          features=f:2:0.5        | feature "f:2:0.5": "0.5" is unknown; expected NAME:LOOKUPS
          features=f:2:batch=3    | "batch=3" is unknown; expected NAME:LOOKUPS
          features=f:2:batchShare=0 | batch share of feature "f" must be above 0 and at most 1000, got 0.0
          features=f:1+f:1        | names of features of table "a" must be different, got "f" twice
          features=f:3            | pooling factor of table "a" must be 3.0, the sum over its features of poolingFactor * batchShare / duplicates, got 2.0
          idWeights=yes           | idWeights must be one of given, learned, got "yes"
          """)
  void a_feature_that_is_none_is_rejected(String more, String message) {
    assertThatThrownBy(() -> SpecTexts.table(TABLE + "," + more))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @Test
  void a_table_can_have_constraints() {
    assertThat(
            SpecTexts.table(TABLE + ",kinds=row_wise+table_wise,leastColumns=4,sameDevicesAs=b")
                .constraints())
        .isEqualTo(
            new TableConstraints(
                Set.of(ShardKind.TABLE_WISE, ShardKind.ROW_WISE), 4, Optional.of("b")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          kinds=row_wise+rows | each of kinds, joined by +, must be one of table_wise, column_wise, table_column_wise, row_wise, table_row_wise, grid_shard, data_parallel, partial_row_wise, got "rows"
          kinds=row_wise+     | data_parallel, partial_row_wise, got ""
          kinds=              | data_parallel, partial_row_wise, got ""
          leastColumns=wide   | leastColumns must be a whole number, got "wide"
          leastColumns=5000   | least columns of a table's constraints must be between 0 and 4096, got 5000
          sameDevicesAs=      | table name in constraints must have 1 to 255 characters, none of them a control character, got ""
          sameDevicesAs=a     | constraints of table "a" must name another table for the same devices
          kinds=grid_shard,pooled=false | constraints of unpooled table "a" contradict each other
          """)
  void a_wrong_constraint_is_named(String more, String problem) {
    assertThatThrownBy(() -> SpecTexts.table(TABLE + "," + more))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(problem);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          countsStepMemory=yes  | countsStepMemory must be true or false, got "yes"
          countsStepMemory=     | countsStepMemory must be true or false, got ""
          hostMemoryGib=much    | hostMemoryGib must be a number, got "much"
          memoryBytesPerDevice=9 | has "memoryBytesPerDevice"; expected key=value
          devicesPerNode=        | devicesPerNode must be a whole number, got ""
          devicesPerNode=1.5     | devicesPerNode must be a whole number, got "1.5"
          replicaGroups=1+x      | each of replicaGroups, joined by +, must be a whole number, got "x"
          forwardBytesPerElement= | forwardBytesPerElement must be a number, got ""
          memoryGibByDevice=8   | memoryGibByDevice must be none, or DEVICE:GIB joined by +, such as 6:40+7:40, got "8"
          memoryGibByDevice=0:1+x:2 | joined by +, such as 6:40+7:40, got "x:2"
          memoryGibByDevice=9:1 | device with memory of its own of a cluster must be between 0 and 8, got 9
          devicesPerHost=2      | devices per host of a cluster must be a divisor of its 9 devices per node, or 0 where a node is a host, got 2
          reservedMemoryGib=80  | reserved bytes of memory per device of a cluster must be between 0 and 85899345919, got 85899345920
          accessCdf=0.5         | has "accessCdf"; expected key=value, separated by commas, each key once: devices
          devices=4             | has "devices=4"; expected key=value
          countsStepMemory=true,pipeline=fast | pipeline must be one of none, sparse_dist, prefetch, got "fast"
          pipeline=none         | countsStepMemory of a cluster must be true if it names a pipeline, whose memory would not be counted otherwise, got false with pipeline none
          """)
  void a_wrong_value_is_named(String more, String problem) {
    assertThatThrownBy(() -> SpecTexts.cluster(CLUSTER + "," + more))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(problem);
  }

  /** The change replaces all of them: those of devices that are gone do not matter. */
  @Test
  void a_change_replaces_the_memory_of_single_devices() {
    ClusterSpec cluster = SpecTexts.cluster(CLUSTER + ",memoryGibByDevice=8:40");
    assertThat(SpecTexts.clusterChange("devices=8,memoryGibByDevice=0:20").apply(cluster))
        .isEqualTo(
            SpecTexts.cluster(
                "devices=8,devicesPerNode=9,memoryGib=80,batchSize=64,hardware=h100,memoryGibByDevice=0:20"));
    assertThat(SpecTexts.clusterChange("batchSize=128").apply(cluster).memoryBytesByDevice())
        .isEqualTo(cluster.memoryBytesByDevice());
    assertThatThrownBy(() -> SpecTexts.clusterChange("devices=8").apply(cluster))
        .hasMessage("device with memory of its own of a cluster must be between 0 and 7, got 8");
  }
}
