package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;

/** No command replaces what it reads. */
class OutputsTest {
  /** The options whose paths are read, and never written. */
  private static final Set<String> READ =
      Set.of(
          "--command-config",
          "--config",
          "--file",
          "--from",
          "--links",
          "--log",
          "--model",
          "--original",
          "--plans",
          "--published",
          "--samples",
          "--tables",
          "LOG");

  private static final String CONTENT = "what is read\n";

  @TempDir private Path folder;
  private final StringWriter err = new StringWriter();
  private Path input;

  @BeforeEach
  void createInput() throws IOException {
    input = Files.writeString(folder.resolve("input"), CONTENT);
  }

  private int run(String command, Path in, Path out) {
    String[] args =
        command.replace("IN", in.toString()).replace("OUT", out.toString()).split(" ", -1);
    return Shardtide.run(new PrintWriter(new StringWriter()), new PrintWriter(err), args);
  }

  private void assertRefused(String command, Path in, Path out, String expected) {
    assertThat(run(command, in, out)).as(command).isEqualTo(2);
    assertThat(err.toString())
        .as(command)
        .startsWith("shardtide: ")
        .contains(" must be %s, got %s%n".formatted(expected, out));
    assertThat(input).as(command).hasContent(CONTENT);
    err.getBuffer().setLength(0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          plan --workloads IN --out OUT                                            | --file
          plan --workloads w --hardware h200 --model m --model IN --out OUT        | --model
          plan --workloads w --predict IN --out OUT                                | --plans
          pretrain --samples s --hardware x --tables IN --out OUT                  | --tables
          pretrain --samples s --hardware x --from IN --out OUT                    | --from
          evaluate --samples s --tables IN --predictions OUT                       | --tables
          evaluate --samples s --model IN --predictions OUT                        | --model
          replay --events IN --out OUT                                             | LOG
          replay --events e --model IN --out OUT                                   | --model
          replay --what-if --events e --original o --model IN --out OUT            | --model
          export --bootstrap h:1 --registry http://r --kafka-config IN --out OUT   | --command-config
          """)
  void an_input_is_no_output_by_whatever_name(String command, String option) throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("link"), input);
    Path second = Files.createLink(folder.resolve("second"), input);
    Path sameFolder = Files.createSymbolicLink(folder.resolve("here"), folder);
    for (Path out :
        List.of(
            input,
            link,
            second,
            sameFolder.resolve("input"),
            folder.resolve("here/../" + folder.getFileName() + "/./input"))) {
      assertRefused(command, input, out, "another file than " + option);
      assertRefused(command, out, input, "another file than " + option);
    }
    Path none = folder.resolve("none");
    assertRefused(command, none, sameFolder.resolve("none"), "another file than " + option);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "pretrain --samples IN --hardware x --out OUT",
        "evaluate --samples IN --predictions OUT"
      })
  void nothing_is_written_into_samples(String command) throws IOException {
    Path samples = Files.createDirectory(folder.resolve("samples"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), samples);
    for (Path out : List.of(samples.resolve("new"), link.resolve("deep/compute.jsonl"))) {
      assertRefused(command, samples, out, "outside of --samples");
      assertRefused(command, link, out, "outside of --samples");
    }
  }

  @Test
  void terminals_and_pipes_may_be_both() {
    Path device = Path.of("/dev/null");
    assertThat(run("plan --workloads IN --out OUT", device, device)).isNotEqualTo(0);
    assertThat(err.toString()).doesNotContain("another file");
  }

  /** An option with a path is in one of the two lists; who adds one thinks of it here. */
  @Test
  void each_path_is_read_or_written() {
    List<CommandLine> commands = new ArrayList<>(List.of(Shardtide.withAllCommands()));
    Set<String> names = new TreeSet<>();
    for (int c = 0; c < commands.size(); c++) {
      commands.addAll(commands.get(c).getSubcommands().values());
      for (ArgSpec arg : commands.get(c).getCommandSpec().args()) {
        if (Arrays.asList(arg.typeInfo().getAuxiliaryTypes()).contains(Path.class)) {
          names.add(Outputs.name(arg));
        }
      }
    }
    Set<String> known = new TreeSet<>(READ);
    known.addAll(Outputs.WRITTEN);
    // Of the demo, which is not part of this module.
    known.remove("--data");
    assertThat(names).isEqualTo(known);
  }
}
