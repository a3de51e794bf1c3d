package io.shardtide.wire;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What only serves an upgrade from an earlier version in one step, and the way back. It goes when
 * that version may no longer be upgraded so.
 */
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.FIELD})
public @interface ForUpgradeFrom {
  /** The version. */
  String value();
}
