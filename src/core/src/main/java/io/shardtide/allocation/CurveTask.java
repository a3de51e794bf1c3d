package io.shardtide.allocation;

/**
 * A curve to search. It reads no store, so that it may run on another thread.
 *
 * @param curve what is known of it
 * @param search searches it
 * @param refines whether one more point of it is searched from scratch: all are known then
 */
public record CurveTask(Curve curve, CurveSearch search, boolean refines) {
  /** Searches the curve; reads and writes no state. */
  public Curve run() {
    return refines ? search.refine(curve) : search.complete(curve);
  }
}
