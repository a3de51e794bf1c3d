package io.shardtide.wire;

import io.shardtide.avro.RackLink;
import io.shardtide.pool.NodeLinks;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.RackLinks;
import io.shardtide.pool.RackPair;
import io.shardtide.workload.RejectionReason;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Measured bandwidth between the nodes of a pool. */
final class LinksMapping {
  private LinksMapping() {}

  static io.shardtide.avro.PoolLinks toAvro(Optional<PoolLinks> links) {
    if (links.isEmpty()) {
      return null;
    }
    if (links.get() instanceof NodeLinks nodes) {
      return new io.shardtide.avro.PoolLinks(0d, 0d, List.of(), nodes.nodes(), nodes.matrix());
    }
    RackLinks racks = (RackLinks) links.get();
    return new io.shardtide.avro.PoolLinks(
        racks.withinRacks(),
        racks.betweenRacks(),
        racks.measured().entrySet().stream()
            .map(e -> new RackLink(e.getKey().first(), e.getKey().second(), e.getValue()))
            .toList(),
        List.of(),
        List.of());
  }

  static Optional<PoolLinks> fromAvro(io.shardtide.avro.PoolLinks avro) {
    if (avro == null) {
      return Optional.empty();
    }
    boolean hasMatrix = !avro.getNodes().isEmpty() || !avro.getMatrix().isEmpty();
    if (!hasMatrix) {
      SortedMap<RackPair, Double> measured = new TreeMap<>();
      for (RackLink link : avro.getRacks()) {
        RackLinks.put(
            measured,
            RackPair.of(link.getRack(), link.getOtherRack()),
            link.getGigabytesPerSecond());
      }
      return Optional.of(new RackLinks(avro.getWithinRacks(), avro.getBetweenRacks(), measured));
    }
    if (avro.getWithinRacks() != 0 || avro.getBetweenRacks() != 0 || !avro.getRacks().isEmpty()) {
      throw RejectionReason.INVALID_POOL.failure(
          "links of a pool must be those of racks or a matrix, got both: a matrix of %d nodes, and %d racks or pairs of racks with %s GB/s within racks and %s between"
              .formatted(
                  avro.getNodes().size(),
                  avro.getRacks().size(),
                  avro.getWithinRacks(),
                  avro.getBetweenRacks()));
    }
    return Optional.of(new NodeLinks(avro.getNodes(), avro.getMatrix()));
  }
}
