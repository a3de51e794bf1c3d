package io.shardtide.web;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonIncludeProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import io.shardtide.workload.Quarantine;
import java.util.List;

/**
 * The health of the service, as {@code /health} reports it in JSON.
 *
 * @param parts its components, upstream first
 * @param quarantine keys whose records wait; they do not make the service unhealthy
 */
@JsonPropertyOrder({"status", "parts", "quarantine"})
public record Health(
    List<Component> parts,
    @JsonInclude(JsonInclude.Include.NON_EMPTY)
        @JsonIncludeProperties({"topology", "key", "error", "incomplete"})
        List<Quarantine> quarantine) {
  /** The health of a service without keys in quarantine. */
  public Health(List<Component> parts) {
    this(parts, List.of());
  }

  /** Whether a component works. */
  public enum Status {
    /** It works. */
    UP,
    /** It does not work. */
    DOWN
  }

  /**
   * A component of the service.
   *
   * @param name its name
   * @param status whether it works
   * @param problem why it does not work, as a sentence; null if it works
   */
  public record Component(
      String name, Status status, @JsonInclude(JsonInclude.Include.NON_NULL) String problem) {
    /** Returns a component that works. */
    public static Component up(String name) {
      return new Component(name, Status.UP, null);
    }

    /** Returns a component that does not work. */
    public static Component down(String name, String problem) {
      return new Component(name, Status.DOWN, problem);
    }
  }

  /** Returns whether all components work. */
  @JsonProperty
  public Status status() {
    return parts.stream().allMatch(part -> part.status() == Status.UP) ? Status.UP : Status.DOWN;
  }
}
