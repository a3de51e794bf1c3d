package io.shardtide.workload;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.concurrent.Callable;

/** Reads and makes records by reflection. */
public final class Reflected {
  private Reflected() {}

  /** Calls what a type has; throws what that throws. */
  public static <T> T call(Callable<T> call) {
    try {
      return call.call();
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the value of a component of a public record. */
  public static Object value(RecordComponent component, Record of) {
    return call(() -> component.getAccessor().invoke(of));
  }
}
