package io.shardtide.web;

import io.shardtide.views.Views;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * What the dashboard needs of its process.
 *
 * @param views returns the current views; empty while nothing follows the log
 * @param actions operations that read the whole log or change something
 * @param token accepts the token that a change requires, in constant time; empty if no changes are
 *     allowed
 */
public record Dashboard(
    Supplier<Optional<Views>> views, Actions actions, Optional<Predicate<String>> token) {

  /**
   * Operations that may take seconds. Each throws {@link IllegalArgumentException} with a message
   * for the user if its argument does not exist.
   */
  public interface Actions {
    /**
     * Returns the explanation of a plan, ready to be written as JSON.
     *
     * @param planId the plan's id
     * @throws IOException if the log cannot be read
     */
    Object why(String planId) throws IOException;

    /**
     * Makes a model the one that predicts; returns a message for the user.
     *
     * @param modelId the beginning of its id
     * @throws IOException if the log cannot be read or written
     */
    String promote(String modelId) throws IOException;

    /**
     * Makes the previous model of a hardware the one that predicts; returns a message for the user.
     *
     * @param hardware name of the hardware
     * @throws IOException if the log cannot be read or written
     */
    String rollback(String hardware) throws IOException;
  }
}
