package io.shardtide.web;

import io.shardtide.views.Views;
import java.io.IOException;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * What the pages of the dashboard show, and do.
 *
 * @param views gives the views; empty until the log is followed
 * @param actions what takes longer, or changes something
 * @param token tells the token that who changes something must send; empty if nobody may. Should
 *     take as long for any text.
 */
public record Dashboard(
    Supplier<Optional<Views>> views, Actions actions, Optional<Predicate<String>> token) {

  /**
   * What is done when somebody asks for it. Each method may take seconds, and throws {@link
   * IllegalArgumentException} with what is legal if it is asked for what there is not.
   */
  public interface Actions {
    /**
     * Returns how a plan came about, ready to be written as JSON.
     *
     * @param planId the plan's id
     * @throws IOException if the log cannot be read
     */
    Object why(String planId) throws IOException;

    /**
     * Lets a model predict from now on, and says so.
     *
     * @param modelId the beginning of its id
     * @throws IOException if the log cannot be read or written
     */
    String promote(String modelId) throws IOException;

    /**
     * Lets the model predict that predicted before the current one, and says so.
     *
     * @param hardware whose model
     * @throws IOException if the log cannot be read or written
     */
    String rollback(String hardware) throws IOException;
  }
}
