package io.shardtide.workload;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Optional;

/**
 * How a hash table stores the rows of a table that has no fixed size: TorchRec's {@code
 * HashZchManagedCollisionModule} (MPZCH) and virtual tables (KVZCH), NVIDIA's {@code dynamicemb}
 * and Monolith's cuckoo table are such. The rows of the table ({@link TableSpec#rows}) are its
 * capacity in slots. Each slot holds one id, its weights and its optimizer state.
 *
 * @param ids distinct ids that it has seen and not evicted, 0 to 2^36; more than slots if ids share
 *     them
 * @param idsPerDay distinct ids that it gains in a day, less those that it evicts; 0 to {@value
 *     #MAX_IDS_PER_DAY}
 * @param slotBytes bytes of a slot beside weights and optimizer state, 0 to {@value
 *     #MAX_SLOT_BYTES}: of the id, and of the score by which ids are evicted
 * @param eviction which ids it gives up when it is full
 * @param hitShares share of the lookups that find their id if the table keeps the 1, 4, 16 .. most
 *     used ids, as long as these are less than {@code ids}, then 1; or unknown
 * @param resizeReason why its capacity was last changed by a {@link Change.TableResized}, for
 *     people; 1 to {@value #MAX_REASON} characters, none of them a control character
 */
@RecordBuilder
public record HashedStorage(
    long ids,
    double idsPerDay,
    double slotBytes,
    Eviction eviction,
    AccessCdf hitShares,
    Optional<String> resizeReason) {

  /** A hash table whose number of rows nothing can hold: as {@link TableSpec#MAX_ROWS}. */
  public static final long MAX_IDS = TableSpec.MAX_ROWS;

  /** More than ten million new ids a second. */
  public static final double MAX_IDS_PER_DAY = 1e12;

  /** A key of 128 64-bit numbers. */
  public static final double MAX_SLOT_BYTES = 1024;

  /** A key and a score of 8 bytes each, as dynamicemb's table has them. */
  public static final double DEFAULT_SLOT_BYTES = 16;

  /** Three lines of a report. */
  public static final int MAX_REASON = 500;

  private static final Limits LIMITS = Limits.of(RejectionReason.INVALID_STORAGE, "a hashed table");

  /** A hash table of which nothing is known, and that evicts nothing. */
  public static final HashedStorage PLAIN =
      new HashedStorage(
          0, 0, DEFAULT_SLOT_BYTES, Eviction.NONE, AccessCdf.UNKNOWN, Optional.empty());

  /**
   * @throws RejectedException if a value is outside its range, or the hit shares are not those of
   *     so many ids
   */
  public HashedStorage {
    LIMITS
        .whole("ids", ids, 0, MAX_IDS)
        .within("ids per day", idsPerDay, 0, MAX_IDS_PER_DAY)
        .within("slot bytes", slotBytes, 0, MAX_SLOT_BYTES);
    int entries = AccessCdf.size(Math.max(1, ids));
    if (hitShares.isKnown() && hitShares.shares().size() != entries) {
      throw LIMITS.failure(
          "entries of the hit shares",
          "%s for its %s ids".formatted(entries, ids),
          hitShares.shares().size());
    }
    resizeReason.ifPresent(HashedStorage::checkReason);
    resizeReason = resizeReason.filter(reason -> !reason.isBlank());
  }

  /**
   * Checks the reason of a resize.
   *
   * @throws RejectedException if it is too long, contains a control character, or is not
   *     well-formed Unicode
   */
  static void checkReason(String reason) {
    Optional<String> flaw = Names.flaw(reason, MAX_REASON);
    if (flaw.isPresent()) {
      throw RejectionReason.INVALID_STORAGE.failure(
          "reason of a resize must have at most %s characters, none of them a control character, got %s: it %s"
              .formatted(MAX_REASON, Names.quote(reason), flaw.get()));
    }
  }
}
