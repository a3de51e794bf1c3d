package io.shardtide.pool;

import io.shardtide.workload.Limits;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Bandwidth by pairs of nodes. A node that was added since it was measured counts as far from all:
 * it has the least bandwidth of the matrix.
 */
public final class NodeLinks implements PoolLinks {
  /** The largest matrix: 2 MiB, small enough to be kept with the state of a pool. */
  public static final int MAX_NODES = 512;

  private final SortedMap<String, Integer> rows = new TreeMap<>();
  private final List<List<Double>> matrix;
  private final double least;

  /**
   * @param nodes names of the nodes, 2 to {@value #MAX_NODES}
   * @param matrix for each node a row with its bandwidth to each of them, in the same order, in
   *     {@link PoolLinks#GIGABYTES_PER_SECOND}; equal in both directions. That of a node to itself
   *     is not read
   * @throws RejectedException if a name occurs twice, the matrix is not square, or a bandwidth is
   *     outside its range or not equal in both directions
   */
  public NodeLinks(List<String> nodes, List<List<Double>> matrix) {
    int size = nodes.size();
    Limits.of(RejectionReason.INVALID_POOL, "a matrix")
        .whole("nodes", size, 2, MAX_NODES)
        .different("nodes", nodes.stream());
    nodes.forEach(node -> rows.put(node, rows.size()));
    if (matrix.size() != size) {
      throw RejectionReason.INVALID_POOL.failure(
          "a matrix of %s nodes must have as many rows, got %s".formatted(size, matrix.size()));
    }
    double smallest = Double.POSITIVE_INFINITY;
    for (int i = 0; i < size; i++) {
      if (matrix.get(i).size() != size) {
        throw RejectionReason.INVALID_POOL.failure(
            "rows of a matrix of %s nodes must have as many numbers, got %s for %s"
                .formatted(size, matrix.get(i).size(), Names.quote(nodes.get(i))));
      }
      for (int j = 0; j < i; j++) {
        double there = matrix.get(j).get(i);
        double back = matrix.get(i).get(j);
        PoolLinks.check(there, nodes.get(j), nodes.get(i));
        if (there != back) {
          throw RejectionReason.INVALID_POOL.failure(
              "bandwidth of %s and %s must be equal in both directions, got %s and %s GB/s"
                  .formatted(Names.quote(nodes.get(j)), Names.quote(nodes.get(i)), there, back));
        }
        smallest = Math.min(smallest, there);
      }
    }
    this.matrix = matrix.stream().map(List::copyOf).toList();
    least = smallest;
  }

  /** Returns the names of the nodes, in the order of the matrix. */
  public List<String> nodes() {
    return rows.keySet().stream().sorted((a, b) -> rows.get(a) - rows.get(b)).toList();
  }

  /** Returns the rows. */
  public List<List<Double>> matrix() {
    return matrix;
  }

  @Override
  public double gigabytesPerSecond(PoolNode from, PoolNode to) {
    Integer row = rows.get(from.name());
    Integer column = rows.get(to.name());
    return row == null || column == null || row.equals(column)
        ? least
        : matrix.get(row).get(column);
  }

  @Override
  public String group(PoolNode node) {
    return node.name();
  }

  @Override
  public boolean isSharedBetweenGroups() {
    return false;
  }

  @Override
  public void check(Collection<PoolNode> nodes) {
    Set<String> missing = new TreeSet<>();
    nodes.forEach(node -> missing.add(node.name()));
    for (String node : rows.keySet()) {
      if (!missing.remove(node)) {
        throw RejectionReason.INVALID_POOL.failure(
            "nodes of a matrix must be those of the pool, got %s".formatted(Names.quote(node)));
      }
    }
    if (!missing.isEmpty()) {
      throw RejectionReason.INVALID_POOL.failure(
          "nodes of a matrix must be all of the pool, got none for %s"
              .formatted(Names.quote(missing.iterator().next())));
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NodeLinks links
        && rows.equals(links.rows)
        && matrix.equals(links.matrix);
  }

  @Override
  public int hashCode() {
    return Objects.hash(rows, matrix);
  }

  @Override
  public String toString() {
    return "NodeLinks of %s nodes".formatted(rows.size());
  }
}
