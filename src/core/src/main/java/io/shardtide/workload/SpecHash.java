package io.shardtide.workload;

import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Clusters and tables in ids: by the values of their components in their order, so that an id
 * depends on no text of a record. A component that is added later, at the end, is put with its name
 * and only where it is not at its default: ids of those without it stay what they are on the log.
 */
public final class SpecHash {
  /** How many components of each are in all ids. */
  private static final int OF_CLUSTER = 13;

  private static final int OF_TABLE = 11;

  private static final Set<Object> DEFAULTS =
      Set.of(Optional.empty(), List.of(), 0, false, TableKernel.NONE);

  private SpecHash() {}

  /** Adds a cluster. */
  public static CanonicalHash put(CanonicalHash hash, ClusterSpec cluster) {
    return put(hash, cluster, OF_CLUSTER);
  }

  /** Adds a table. */
  public static CanonicalHash put(CanonicalHash hash, TableSpec table) {
    return put(hash, table, OF_TABLE);
  }

  private static CanonicalHash put(CanonicalHash hash, Record of, int first) {
    RecordComponent[] components = CanonicalHash.components(of);
    for (int i = 0; i < components.length; i++) {
      Object value = Reflected.value(components[i], of);
      if (i < first) {
        hash.put(value);
      } else if (!DEFAULTS.contains(value)) {
        hash.put(components[i].getName());
        // The name of what is true says it.
        if (!value.equals(true)) {
          hash.put(value);
        }
      }
    }
    return hash;
  }
}
