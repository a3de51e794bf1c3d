package io.shardtide.wire;

import io.shardtide.avro.MeasuredComputation;
import io.shardtide.avro.MeasuredExchange;
import io.shardtide.avro.ShardPlacement;
import io.shardtide.cost.CostSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.models.AvroMapping;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.List;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;

@Mapper(
    config = AvroMapping.class,
    uses = {SpecMapping.class, MeasuredCostsMapping.class})
interface CostSampleMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  CostSampleMapping INSTANCE = new CostSampleMappingImpl();

  @Mapping(target = "cost", qualifiedByName = "cost")
  io.shardtide.avro.CostSample toAvro(CostSample sample);

  @Mapping(target = "cost", source = "avro")
  CostSample fromAvro(io.shardtide.avro.CostSample avro);

  @Named("cost")
  default Object toAvro(CostSample.Cost cost) {
    return cost instanceof CostSample.Computation computation
        ? toAvro(computation)
        : toAvro((CostSample.StepCommunication) cost);
  }

  default CostSample.Cost cost(io.shardtide.avro.CostSample avro) {
    return avro.getCost() instanceof MeasuredComputation computation
        ? fromAvro(computation, shards(computation, avro.getBatchSize()))
        : fromAvro((MeasuredExchange) avro.getCost());
  }

  @Mapping(target = "placements", source = "shards")
  MeasuredComputation toAvro(CostSample.Computation computation);

  @Mapping(target = "shards", source = "shards")
  CostSample.Computation fromAvro(MeasuredComputation computation, List<DeviceShard> shards);

  default io.shardtide.avro.TableSpec table(DeviceShard shard) {
    return SpecMapping.INSTANCE.toAvro(shard.table());
  }

  @Mapping(target = "of", ignore = true)
  DeviceShard shard(TableSpec table, ShardPlacement placement, int reuseBatchSize);

  /** Returns the shards; samples of earlier versions have whole rows on one device. */
  private List<DeviceShard> shards(MeasuredComputation avro, int batchSize) {
    int shards = avro.getShards().size();
    List<ShardPlacement> placements = avro.getPlacements();
    if (!placements.isEmpty() && placements.size() != shards) {
      throw new IllegalArgumentException(
          "placements must be none or one for each of %d shards, got %d"
              .formatted(shards, placements.size()));
    }
    List<DeviceShard> read = new ArrayList<>();
    for (int i = 0; i < shards; i++) {
      TableSpec table = SpecMapping.INSTANCE.fromAvro(avro.getShards().get(i));
      read.add(
          placements.isEmpty()
              ? DeviceShard.ofColumns(table, batchSize)
              : shard(table, placements.get(i), batchSize));
    }
    return read;
  }

  MeasuredExchange toAvro(CostSample.StepCommunication communication);

  @Mapping(target = "devicesPerNode", source = "avro", qualifiedByName = "devicesPerNode")
  CostSample.StepCommunication fromAvro(MeasuredExchange avro);

  @Named("devicesPerNode")
  default int devicesPerNode(MeasuredExchange avro) {
    return avro.getDevicesPerNode() == 0 ? avro.getColumns().size() : avro.getDevicesPerNode();
  }

  default Collective collective(String name) {
    return io.shardtide.workload.Named.parse(
        Collective.class, name, "collective", IllegalArgumentException::new);
  }

  default Direction direction(String name) {
    return io.shardtide.workload.Named.parse(
        Direction.class, name, "direction", IllegalArgumentException::new);
  }
}
