package io.shardtide.cli;

import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.RejectedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The options that say what a pool is: a file, or values; and what its links are. */
final class PoolSpecOption {
  private static final double GIB = 1L << 30;
  private static final String LINKS_EXPECTED =
      "; expected links as python -m shardtide.collect links writes them";

  @ArgGroup(multiplicity = "1")
  private FileOrValues given;

  @Option(
      names = "--links",
      paramLabel = "FILE",
      description =
          "A file with one PoolLinks in Avro's JSON encoding, as python -m shardtide.collect links"
              + " writes it: measured bandwidth between the nodes. It replaces links of --file.")
  private Path links;

  /** A file, or values. */
  private static final class FileOrValues {
    @Option(
        names = {"-f", "--file"},
        paramLabel = "FILE",
        description =
            "A file with one PoolSpec in Avro's JSON encoding: devicesPerNode, memoryBytesPerDevice, hardware, and nodes"
                + " with their names and racks.")
    private Path file;

    @ArgGroup(exclusive = false)
    private PoolValues values;
  }

  /** A pool that is built from options. */
  private static final class PoolValues {
    @Option(
        names = "--devices-per-node",
        required = true,
        paramLabel = "N",
        description = "Devices of each node.")
    private int devicesPerNode;

    @Option(
        names = "--memory-gib",
        required = true,
        paramLabel = "GIB",
        description = "Memory of each device.")
    private double memoryGib;

    @Option(
        names = "--host-memory-gib",
        defaultValue = "0",
        paramLabel = "GIB",
        description = "Host memory of each device for cached shards. Default: ${DEFAULT-VALUE}.")
    private double hostMemoryGib;

    @Option(
        names = "--hardware",
        required = true,
        paramLabel = "NAME",
        description = "Hardware of the devices, which selects the cost model.")
    private String hardware;

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
  }

  /**
   * Returns the pool.
   *
   * @throws IOException if a file cannot be read, or the links in it are not those of the pool
   * @throws IllegalArgumentException if a value cannot be used; the message names it
   */
  Pool pool() throws IOException {
    Pool pool =
        given.file == null
            ? pool(given.values)
            : read(given.file, Codec.POOL, "", "links", "io.shardtide.avro.PoolLinks");
    if (links == null) {
      return pool;
    }
    PoolLinks measured = read(links, Codec.POOL_LINKS, LINKS_EXPECTED);
    try {
      return pool.withLinks(measured);
    } catch (RejectedException e) {
      throw new MalformedFileException(links, 0, e.getMessage());
    }
  }

  private static <V> V read(Path file, Codec<V, ?> codec, String expected, String... toLinks)
      throws IOException {
    String text = TextFiles.read(file);
    Optional<String> wrongLinks = LinksText.problem(text, toLinks);
    if (wrongLinks.isPresent()) {
      throw new MalformedFileException(file, 0, wrongLinks.get() + expected);
    }
    try {
      return new JsonLines<>(codec).read(text);
    } catch (IllegalArgumentException e) {
      throw new MalformedFileException(file, 0, e.getMessage() + expected);
    }
  }

  private static Pool pool(PoolValues values) {
    List<PoolNode> nodes = new ArrayList<>();
    values.nodes.forEach(name -> nodes.add(new PoolNode(name.strip(), "")));
    for (String rack : values.racks) {
      int equals = rack.indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException(
            "--rack must be a rack and its nodes, such as r1=n1,n2, got \"%s\"".formatted(rack));
      }
      for (String name : rack.substring(equals + 1).split(",", -1)) {
        nodes.add(new PoolNode(name.strip(), rack.substring(0, equals).strip()));
      }
    }
    return Pool.of(
        values.devicesPerNode,
        Math.round(values.memoryGib * GIB),
        Math.round(values.hostMemoryGib * GIB),
        values.hardware,
        nodes);
  }
}
