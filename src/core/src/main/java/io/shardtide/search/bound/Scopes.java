package io.shardtide.search.bound;

import io.shardtide.workload.ShardScope;
import java.util.List;

/** Numbers of scopes, for arrays and for sets of bits. */
final class Scopes {
  static final List<ShardScope> ALL = List.of(ShardScope.values());

  static final int COUNT = ALL.size();

  /** How many sets of scopes there are. */
  static final int SETS = 1 << COUNT;

  private Scopes() {}

  /** Returns the number of a scope, from 0. */
  static int number(ShardScope scope) {
    return ALL.indexOf(scope);
  }

  /** Returns the set of one scope. */
  static int set(ShardScope scope) {
    return 1 << number(scope);
  }

  /** Returns whether a set has a scope. */
  static boolean has(int set, ShardScope scope) {
    return (set & set(scope)) != 0;
  }
}
