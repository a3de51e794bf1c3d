package io.shardtide.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import java.util.List;

/**
 * Whether the service does its work, as JSON has it.
 *
 * @param parts its parts, in the order of the flow
 */
@JsonPropertyOrder({"status", "parts"})
public record Health(List<Part> parts) {
  /** Copies the list. */
  public Health {
    parts = List.copyOf(parts);
  }

  /** Whether a part works. */
  public enum Status {
    /** It does. */
    UP,
    /** It does not. */
    DOWN
  }

  /**
   * A part of the service.
   *
   * @param name what to call it
   * @param status whether it works
   * @param problem what is wrong with it, in words; null if nothing is
   */
  public record Part(
      String name, Status status, @JsonInclude(JsonInclude.Include.NON_NULL) String problem) {
    /** A part that works. */
    public static Part up(String name) {
      return new Part(name, Status.UP, null);
    }

    /** A part that does not, and why. */
    public static Part down(String name, String problem) {
      return new Part(name, Status.DOWN, problem);
    }
  }

  /** Returns whether all parts work. */
  @JsonProperty
  public Status status() {
    return parts.stream().allMatch(part -> part.status() == Status.UP) ? Status.UP : Status.DOWN;
  }
}
