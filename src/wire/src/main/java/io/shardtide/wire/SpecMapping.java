package io.shardtide.wire;

import io.shardtide.domain.AccessCdf;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CommCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.OutOfRange;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.ShardKind;
import io.shardtide.domain.SourcePosition;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableSpec;
import java.util.Optional;

/** The records that several events share. */
final class SpecMapping {
  private SpecMapping() {}

  static io.shardtide.avro.TableSpec toAvro(TableSpec table) {
    return new io.shardtide.avro.TableSpec(
        table.name(),
        table.rows(),
        table.columns(),
        table.poolingFactor(),
        table.reuseHistogram().shares(),
        table.bytesPerElement(),
        table.accessCdf().shares(),
        table.optimizerBytesPerElement(),
        table.optimizerBytesPerRow(),
        toAvro(table.constraints()),
        table.pooled());
  }

  static TableSpec fromAvro(io.shardtide.avro.TableSpec table) {
    return new TableSpec(
        table.getName(),
        table.getRows(),
        table.getColumns(),
        table.getPoolingFactor(),
        new ReuseHistogram(table.getReuseHistogram()),
        table.getBytesPerElement(),
        new AccessCdf(table.getAccessCdf()),
        table.getOptimizerBytesPerElement(),
        table.getOptimizerBytesPerRow(),
        fromAvro(table.getConstraints()),
        table.getPooled());
  }

  private static io.shardtide.avro.TableConstraints toAvro(TableConstraints constraints) {
    return new io.shardtide.avro.TableConstraints(
        constraints.kinds().stream().map(ShardKind::torchRecName).toList(),
        constraints.leastColumns(),
        constraints.sameDevicesAs().orElse(null),
        constraints.mayBeCached(),
        constraints.mayHaveHotRows());
  }

  private static TableConstraints fromAvro(io.shardtide.avro.TableConstraints constraints) {
    return new TableConstraints(
        TableConstraints.kindsOf(constraints.getKinds()),
        constraints.getLeastColumns(),
        Optional.ofNullable(constraints.getSameDevicesAs()),
        constraints.getMayBeCached(),
        constraints.getMayHaveHotRows());
  }

  static io.shardtide.avro.ClusterSpec toAvro(ClusterSpec cluster) {
    return new io.shardtide.avro.ClusterSpec(
        cluster.devices(),
        cluster.memoryBytesPerDevice(),
        cluster.batchSize(),
        cluster.devicesPerNode(),
        cluster.hardware(),
        cluster.hostMemoryBytesPerDevice(),
        cluster.reservedMemoryBytesPerDevice(),
        cluster.countsStepMemory(),
        cluster.forwardBytesPerElement(),
        cluster.backwardBytesPerElement(),
        cluster.replicaGroups(),
        cluster.synchronizationSteps(),
        cluster.codecs().stream().map(SpecMapping::toAvro).toList());
  }

  static ClusterSpec fromAvro(io.shardtide.avro.ClusterSpec cluster) {
    return new ClusterSpec(
        cluster.getDevices(),
        cluster.getMemoryBytesPerDevice(),
        cluster.getBatchSize(),
        cluster.getDevicesPerNode(),
        cluster.getHardware(),
        cluster.getHostMemoryBytesPerDevice(),
        cluster.getReservedMemoryBytesPerDevice(),
        cluster.getCountsStepMemory(),
        cluster.getForwardBytesPerElement(),
        cluster.getBackwardBytesPerElement(),
        cluster.getReplicaGroups(),
        cluster.getSynchronizationSteps(),
        cluster.getCodecs().stream().map(SpecMapping::fromAvro).toList());
  }

  static io.shardtide.avro.WireCodec toAvro(CommCodec codec) {
    return new io.shardtide.avro.WireCodec(
        codec.name(),
        codec.directions().stream().map(Direction::fileName).toList(),
        codec.bytesPerElement(),
        codec.gigabytesPerSecond(),
        codec.density(),
        codec.canBeSummed());
  }

  static CommCodec fromAvro(io.shardtide.avro.WireCodec codec) {
    return new CommCodec(
        codec.getName(),
        CommCodec.directionsOf(codec.getName(), codec.getDirections()),
        codec.getBytesPerElement(),
        codec.getGigabytesPerSecond(),
        codec.getDensity(),
        codec.getCanBeSummed());
  }

  static io.shardtide.avro.SourcePosition toAvro(SourcePosition source) {
    return new io.shardtide.avro.SourcePosition(
        source.topic(), source.partition(), source.offset());
  }

  static SourcePosition fromAvro(io.shardtide.avro.SourcePosition source) {
    return new SourcePosition(source.getTopic(), source.getPartition(), source.getOffset());
  }

  static io.shardtide.avro.OutOfRange toAvro(OutOfRange place) {
    return new io.shardtide.avro.OutOfRange(
        place.subject(), place.quantity(), place.value(), place.min(), place.max());
  }

  static OutOfRange fromAvro(io.shardtide.avro.OutOfRange place) {
    return new OutOfRange(
        place.getSubject(), place.getQuantity(), place.getValue(), place.getMin(), place.getMax());
  }
}
