package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.pool.NodeLinks;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.RackLinks;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Wrong values of the command pools, which are named before anything is sent or waited for. */
class PoolCommandTest {
  private static final String LINKS = "src/cli/src/test/resources/links.json";

  private static final String EXPECTED =
      "; expected links as python -m shardtide.collect links writes them";

  @TempDir private Path folder;

  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    List<String> all = new ArrayList<>(List.of("pools"));
    all.addAll(List.of(args));
    all.addAll(List.of("--bootstrap", "127.0.0.1:1", "--registry", "http://127.0.0.1:1"));
    err.getBuffer().setLength(0);
    return Shardtide.run(
        new PrintWriter(new StringWriter()), new PrintWriter(err), all.toArray(new String[0]));
  }

  private void fails(String message, String... args) {
    assertThat(run(args)).isEqualTo(2);
    assertThat(err.toString().strip()).isEqualTo("shardtide: " + message);
  }

  private void setFails(String message, String... more) {
    List<String> args =
        new ArrayList<>(List.of("set", "gpus", "--devices-per-node", "8", "--memory-gib", "80"));
    args.addAll(List.of("--hardware", "h100"));
    args.addAll(List.of(more));
    fails(message, args.toArray(new String[0]));
  }

  @Test
  void values_of_a_pool_are_checked() {
    setFails("nodes of a pool must be between 1 and 16384, got 0");
    setFails("names of nodes must differ, got \"n1\" twice", "--nodes", "n1,n2", "--rack", "r=n1");
    setFails(
        "--rack must be a rack and its nodes, such as r1=n1,n2, got \"n1,n2\"", "--rack", "n1,n2");
    setFails(
        "nodes[1]: name of a node must have 1 to 255 characters, none of them a control character,"
            + " got \"\": it is empty",
        "--rack",
        "r1=n1,,n2");
    fails(
        "bytes of memory per device of a pool must be between 1 and 2^44, got -1073741824",
        "set",
        "gpus",
        "--devices-per-node=8",
        "--memory-gib=-1",
        "--hardware=h100",
        "--nodes=n1");
  }

  @Test
  void a_pool_is_read_from_a_file() throws IOException {
    Path file = folder.resolve("pool.json");
    Files.writeString(
        file,
        """
        {"devicesPerNode": 0, "memoryBytesPerDevice": 85899345920, "hardware": "h100",
         "nodes": [{"name": "n1"}, {"name": "n2", "rack": "r1"}]}
        """);
    fails(
        file + ": devices per node of a pool must be between 1 and 16384, got 0",
        "set",
        "gpus",
        "--file",
        file.toString());
    Files.writeString(file, "{");
    assertThat(run("set", "gpus", "--file", file.toString())).isEqualTo(2);
    assertThat(err.toString())
        .startsWith("shardtide: " + file + ": invalid JSON: the line ends within a value");
    fails("nowhere.json does not exist", "set", "gpus", "--file", "nowhere.json");
    fails("devicesPerNode must be a whole number below 2^31, got nothing", "set", "gpus");
    fails(
        "unknown field \"colour\": 3; expected devicesPerNode, memoryBytesPerDevice,"
            + " hostMemoryBytesPerDevice, hardware, nodes, links",
        "set",
        "gpus",
        "--set",
        "colour=3");
  }

  /** The Python tests compare the file with what is written. */
  @Test
  void links_are_read_as_the_python_package_writes_them() throws IOException {
    Optional<PoolLinks> expected =
        Optional.of(
            new NodeLinks(
                List.of("n1", "n2", "n3"),
                List.of(
                    List.of(0.0, 9.877, 2.0), List.of(9.877, 0.0, 5.0), List.of(2.0, 5.0, 0.0))));
    assertThat(
            pool(
                "--set=devicesPerNode=8",
                "--set=memoryGib=80",
                "--set=hardware=h100",
                "--rack=r1=n1,n2",
                "--nodes=n3",
                "--links",
                LINKS))
        .isEqualTo(
            Pool.of(
                    8,
                    80L << 30,
                    0,
                    "h100",
                    List.of(
                        new PoolNode("n1", "r1"), new PoolNode("n2", "r1"), new PoolNode("n3", "")))
                .withLinks(expected.orElseThrow()));
    Path file = folder.resolve("pool.json");
    String spec =
        """
        {"devicesPerNode": 8, "memoryBytesPerDevice": 85899345920, "hardware": "h100",
         "nodes": [{"name": "n1"}, {"name": "n2"}, {"name": "n3"}], "links": %s}
        """;
    Files.writeString(
        file, spec.formatted("{\"io.shardtide.avro.PoolLinks\": " + links("racks") + "}"));
    assertThat(pool("--file", file.toString()).links().orElseThrow()).isInstanceOf(RackLinks.class);
    assertThat(pool("--file", file.toString(), "--links", LINKS).links()).isEqualTo(expected);
    String measured = Files.readString(Path.of(LINKS));
    Files.writeString(file, spec.formatted("{\"io.shardtide.avro.PoolLinks\": " + measured + "}"));
    assertThat(pool("--file", file.toString()).links()).isEqualTo(expected);
  }

  private static String links(String form) {
    return form.equals("racks")
        ? "{\"withinRacks\": 20, \"betweenRacks\": 5}"
        : "{\"nodes\": [\"n1\", \"n2\"], \"matrix\": [[0, 4], [%s, 0]]}".formatted(form);
  }

  private static Pool pool(String... args) throws IOException {
    return CommandLine.populateCommand(new PoolSpecOption(), args).pool();
  }

  @Test
  void wrong_links_are_named_with_their_file() throws IOException {
    setFails(
        LINKS + ": nodes of a matrix must be those of the pool, got \"n3\"",
        "--nodes=n1,n2",
        "--links",
        LINKS);
    setFails(
        LINKS + ": nodes of a matrix must be all of the pool, got none for \"n4\"",
        "--nodes=n1,n2,n3,n4",
        "--links",
        LINKS);
    Path file = folder.resolve("links.json");
    Files.writeString(file, links("3"));
    setFails(
        file
            + ": bandwidth of \"n1\" and \"n2\" must be equal in both directions, got 4.0 and 3.0"
            + " GB/s"
            + EXPECTED,
        "--nodes=n1,n2",
        "--links",
        file.toString());
    String wrapped = "{\"io.shardtide.avro.PoolLinks\": " + links("4") + "}";
    for (String text : List.of("", "[1]", "{}", wrapped)) {
      Files.writeString(file, text);
      assertThat(
              run(
                  "set",
                  "gpus",
                  "--devices-per-node=8",
                  "--memory-gib=80",
                  "--hardware=h100",
                  "--nodes=n1,n2",
                  "--links",
                  file.toString()))
          .isEqualTo(2);
      assertThat(err.toString())
          .as(text)
          .startsWith("shardtide: " + file + ": ")
          .endsWith(EXPECTED + System.lineSeparator());
    }
    setFails("nowhere.json does not exist", "--nodes=n1,n2", "--links", "nowhere.json");
    assertThat(run("set", "gpus", "--links", file.toString())).isEqualTo(2);
  }

  @Test
  void links_that_are_no_numbers_are_named() throws IOException {
    wrongLinks(
        "bandwidth from \"a node\" to \"one in its rack\" must be above 0 to 1000000 GB/s, got 0.0",
        "{}");
    wrongLinks("a line must be one JSON object, got []", "[]");
    wrongLinks("withinRacks must be a number, got NaN", "{'withinRacks': NaN, 'betweenRacks': 5}");
    wrongLinks(
        "unknown field \"betweenRack\": 5. Maybe betweenRacks; expected withinRacks, betweenRacks,"
            + " racks, nodes, matrix",
        "{'withinRacks': 5, 'betweenRack': 5}");
    wrongLinks(
        "matrix must be a list, each a list, got {}", "{'nodes': ['n1', 'n2'], 'matrix': {}}");
    wrongLinks("matrix[1] must be a list, each a number, got {}", matrix("[0, 4]", "{}"));
    wrongLinks(
        "bandwidth from \"n1\" to \"n2\" must be above 0 to 1000000 GB/s, got -1.0",
        matrix("[0, -1]", "[4, 0]"));
    for (String entry : List.of("NaN", "Infinity", "null", "{}", "[]", "true", "'x'")) {
      String shown = entry.replace('\'', '"');
      wrongLinks(
          "matrix[0][1] must be a number, got " + shown,
          matrix("[0, %s]".formatted(entry), "[4, 0]"));
      wrongLinks(
          "matrix[1][1] must be a number, got " + shown,
          matrix("[0, 4]", "[4, %s]".formatted(entry)));
    }
    Path file = folder.resolve("pool.json");
    Files.writeString(
        file,
        """
        {"devicesPerNode": 8, "memoryBytesPerDevice": 85899345920, "hardware": "h100",
         "nodes": [{"name": "n1"}, {"name": "n2"}], "links": {"io.shardtide.avro.PoolLinks": %s}}
        """
            .formatted(matrix("[NaN, 4]", "[4, 0]").replace('\'', '"')));
    fails(
        file + ": links: matrix[0][0] must be a number, got NaN",
        "set",
        "gpus",
        "--file",
        file.toString());
  }

  private static String matrix(String first, String second) {
    return "{'nodes': ['n1', 'n2'], 'matrix': [%s, %s]}".formatted(first, second);
  }

  private void wrongLinks(String message, String links) throws IOException {
    Path file = folder.resolve("links.json");
    Files.writeString(file, links.replace('\'', '"'));
    setFails(file + ": " + message + EXPECTED, "--nodes=n1,n2", "--links", file.toString());
  }

  @Test
  void names_and_claims_are_checked() {
    fails(
        "least devices of the claim of workload \"ads\" must be between 1 and 4, got 8",
        "claim",
        "gpus",
        "ads",
        "--least",
        "8",
        "--most",
        "4");
    fails(
        "weight of the claim of workload \"ads\" must be between 0.001 and 1000, got NaN",
        "claim",
        "gpus",
        "ads",
        "--least=1",
        "--most=4",
        "--weight=NaN");
    fails(
        "pool id must have 1 to 255 characters, none of them a control character, got \" \": it is"
            + " empty",
        "withdraw",
        " ",
        "ads");
    fails(
        "workload id of a withdrawn claim must have 1 to 255 characters, none of them a control"
            + " character, got \"\": it is empty",
        "withdraw",
        "gpus",
        "");
    fails(
        "name of a node must have 1 to 255 characters, none of them a control character, got \"\":"
            + " it is empty",
        "lose",
        "gpus",
        "");
    fails(
        "rack of node \"n1\" must have 1 to 255 characters, none of them a control character, got"
            + " \"\uFFFD\": it contains a control character",
        "add",
        "gpus",
        "n1",
        "--rack",
        "\u0007");
    fails(
        "pool id must have 1 to 255 characters, none of them a control character, got \"\": it is"
            + " empty",
        "show",
        "");
  }

  @Test
  void a_missing_subcommand_is_named() {
    assertThat(Shardtide.run(new PrintWriter(new StringWriter()), new PrintWriter(err), "pools"))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains("pool needs one of node, apply, claim, delete, get, list, watch, why");
  }
}
