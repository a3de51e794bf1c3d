package io.shardtide.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolLinks;
import io.shardtide.samples.PoolSpec;
import io.shardtide.samples.PoolSpec.Links;
import io.shardtide.samples.RecordText;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine.Option;

/** The options that say what a pool is, and what its links are. */
final class PoolSpecOption {
  private static final String LINKS_EXPECTED =
      "; expected links as python -m shardtide.collect links writes them";

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE",
      description =
          "A file with one pool as JSON: devicesPerNode, memoryBytesPerDevice, hardware, and nodes"
              + " with their names and racks.")
  private Path file;

  @Option(
      names = "--set",
      paramLabel = "PATH=VALUE",
      description = "A value of the pool, such as devicesPerNode=8. May be repeated.")
  private Map<String, String> values = Map.of();

  @Option(
      names = "--nodes",
      split = ",",
      paramLabel = "NODE",
      description = "Nodes whose rack is not known, separated by commas. May be repeated.")
  private List<String> nodes = List.of();

  @Option(
      names = "--rack",
      paramLabel = "RACK=NODE,..",
      description = "A rack and its nodes. May be repeated.")
  private List<String> racks = List.of();

  @Option(
      names = "--links",
      paramLabel = "FILE",
      description =
          "A file with measured bandwidth between the nodes, as python -m shardtide.collect links"
              + " writes it. It replaces links of --file.")
  private Path links;

  /**
   * Returns the pool.
   *
   * @throws IOException if a file cannot be read, or the links in it are not those of the pool
   * @throws IllegalArgumentException if a value cannot be used; the message names it
   */
  Pool pool() throws IOException {
    ObjectNode json = file == null ? JsonNodeFactory.instance.objectNode() : parse(file, "");
    // As of an event, whose JSON has the name of the type.
    JsonNode event = json.path("links").path("io.shardtide.avro.PoolLinks");
    if (event.isObject()) {
      json.set("links", event);
    }
    values.forEach((path, text) -> RecordText.set(PoolSpec.class, json, path, text));
    nodes.forEach(name -> addNode(json, name, ""));
    for (String rack : racks) {
      int equals = rack.indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException(
            "--rack must be a rack and its nodes, such as r1=n1,n2, got \"%s\"".formatted(rack));
      }
      for (String name : rack.substring(equals + 1).split(",", -1)) {
        addNode(json, name, rack.substring(0, equals));
      }
    }
    PoolSpec spec = of(file, "", () -> RecordText.read(PoolSpec.class, json));
    Pool pool = of(file, "", spec::pool);
    if (links != null) {
      ObjectNode measured = parse(links, LINKS_EXPECTED);
      PoolLinks read =
          of(links, LINKS_EXPECTED, () -> links(RecordText.read(Links.class, measured)));
      return of(links, "", () -> pool.withLinks(read));
    }
    return spec.links().isEmpty()
        ? pool
        : of(file, "", () -> pool.withLinks(links(spec.links().get())));
  }

  private static void addNode(ObjectNode json, String name, String rack) {
    json.withArrayProperty("nodes").addObject().put("name", name.strip()).put("rack", rack.strip());
  }

  private static ObjectNode parse(Path file, String expected) throws IOException {
    String text = TextFiles.read(file);
    return of(file, expected, () -> RecordText.parse(text));
  }

  private static PoolLinks links(Links links) {
    return new JsonLines<>(Codec.POOL_LINKS).read(RecordText.write(links).toString());
  }

  /** Returns a value of a file; its name begins the message of what is wrong. */
  private static <V> V of(Path file, String expected, Supplier<V> value) throws IOException {
    try {
      return value.get();
    } catch (IllegalArgumentException e) {
      if (file == null) {
        throw e;
      }
      throw new MalformedFileException(file, 0, e.getMessage() + expected);
    }
  }
}
