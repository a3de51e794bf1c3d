package io.shardtide.wire;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.pool.CurvePoint;
import io.shardtide.domain.pool.CurveReport;
import io.shardtide.domain.pool.CurveReport.PredictedCurve;
import io.shardtide.domain.pool.CurveRequest;
import io.shardtide.domain.pool.CurveState;
import io.shardtide.domain.pool.Pool;
import io.shardtide.domain.pool.PoolMember;
import io.shardtide.domain.pool.ThroughputCurve;
import java.util.Optional;
import java.util.TreeMap;

/** Throughput curves, and what is kept of them. */
final class CurveMapping {
  private CurveMapping() {}

  static io.shardtide.avro.CurveRequest toAvro(CurveRequest request) {
    return new io.shardtide.avro.CurveRequest(
        request.poolId(),
        request.workloadId(),
        request.type().devicesPerNode(),
        request.type().memoryBytesPerDevice(),
        request.type().hostMemoryBytesPerDevice(),
        request.type().hardware(),
        request.devices());
  }

  static CurveRequest fromAvro(io.shardtide.avro.CurveRequest avro) {
    return new CurveRequest(
        avro.getPoolId(),
        avro.getWorkloadId(),
        new Pool(
            avro.getDevicesPerNode(),
            avro.getMemoryBytesPerDevice(),
            avro.getHostMemoryBytesPerDevice(),
            avro.getHardware(),
            new TreeMap<>()),
        avro.getDevices());
  }

  static io.shardtide.avro.CurveReport toAvro(CurveReport report) {
    return new io.shardtide.avro.CurveReport(
        report.poolId(),
        report.workloadId(),
        report
            .predicted()
            .map(
                p ->
                    new io.shardtide.avro.PredictedCurve(
                        p.curve().generation(),
                        p.curve().modelId(),
                        SpecMapping.toAvro(p.cluster()),
                        p.curve().points().stream()
                            .map(
                                point ->
                                    new io.shardtide.avro.CurvePoint(
                                        point.devices(), Nullable.of(point.stepMs())))
                            .toList()))
            .orElse(null));
  }

  static CurveReport fromAvro(io.shardtide.avro.CurveReport avro) {
    return new CurveReport(
        avro.getPoolId(),
        avro.getWorkloadId(),
        Optional.ofNullable(avro.getPredicted())
            .map(
                p -> {
                  ClusterSpec cluster = SpecMapping.fromAvro(p.getCluster());
                  return new PredictedCurve(
                      cluster,
                      new ThroughputCurve(
                          avro.getWorkloadId(),
                          p.getGeneration(),
                          p.getModelId(),
                          cluster.batchSize(),
                          p.getPoints().stream()
                              .map(
                                  point ->
                                      new CurvePoint(
                                          point.getDevices(), Nullable.optional(point.getStepMs())))
                              .toList()));
                }));
  }

  static io.shardtide.avro.PoolMember toAvro(PoolMember member) {
    return new io.shardtide.avro.PoolMember(
        toAvro(member.request()),
        member.report().map(CurveMapping::toAvro).orElse(null),
        member.sent().map(SpecMapping::toAvro).orElse(null),
        member.isConfirmed());
  }

  static PoolMember fromAvro(io.shardtide.avro.PoolMember avro) {
    return new PoolMember(
        fromAvro(avro.getRequest()),
        Optional.ofNullable(avro.getReport()).map(CurveMapping::fromAvro),
        Optional.ofNullable(avro.getSent()).map(SpecMapping::fromAvro),
        avro.getIsConfirmed());
  }

  static io.shardtide.avro.CurveHeader toAvro(CurveState header) {
    return new io.shardtide.avro.CurveHeader(
        header.generation(),
        header.cluster().map(SpecMapping::toAvro).orElse(null),
        header.request().map(CurveMapping::toAvro).orElse(null),
        header.report().map(CurveMapping::toAvro).orElse(null),
        header.inputId());
  }

  static CurveState fromAvro(io.shardtide.avro.CurveHeader avro) {
    return new CurveState(
        avro.getGeneration(),
        Optional.ofNullable(avro.getCluster()).map(SpecMapping::fromAvro),
        Optional.ofNullable(avro.getRequest()).map(CurveMapping::fromAvro),
        Optional.ofNullable(avro.getReport()).map(CurveMapping::fromAvro),
        avro.getInputId());
  }
}
