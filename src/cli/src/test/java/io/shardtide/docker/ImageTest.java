package io.shardtide.docker;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The rules that the Dockerfile keeps; CI lints it beside this. */
class ImageTest {
  private static final Path FILE = Path.of("docker/Dockerfile");

  /** An instruction of the Dockerfile. */
  private record Instruction(String name, String arguments) {}

  /** Returns the instructions, each on one line. */
  private static List<Instruction> instructions() throws IOException {
    List<Instruction> instructions = new ArrayList<>();
    String joined =
        Files.readString(FILE).replaceAll("(?m)^\\s*#.*\\n", "").replaceAll("\\\\\\n\\s*", "");
    for (String line : joined.lines().filter(l -> !l.isBlank()).toList()) {
      String[] parts = line.split(" ", 2);
      instructions.add(new Instruction(parts[0], parts[1].strip()));
    }
    return instructions;
  }

  private static List<String> all(String name) throws IOException {
    return instructions().stream()
        .filter(i -> i.name().equals(name))
        .map(Instruction::arguments)
        .toList();
  }

  /** Returns what the image itself is made with: the instructions after the last FROM. */
  private static List<Instruction> image() throws IOException {
    List<Instruction> all = instructions();
    int last = 0;
    for (int i = 0; i < all.size(); i++) {
      last = all.get(i).name().equals("FROM") ? i : last;
    }
    return all.subList(last, all.size());
  }

  private static String one(String name) throws IOException {
    List<String> found =
        image().stream().filter(i -> i.name().equals(name)).map(Instruction::arguments).toList();
    assertThat(found).as(name).hasSize(1);
    return found.get(0);
  }

  @Test
  void bases_are_named_by_their_full_version() throws IOException {
    assertThat(all("FROM"))
        .hasSize(2)
        .allSatisfy(from -> assertThat(from).containsPattern(":\\d+\\.\\d+\\.\\d+\\S*"));
  }

  @Test
  void nothing_runs_as_root() throws IOException {
    assertThat(one("USER")).matches("[1-9]\\d{3,}:[1-9]\\d{3,}");
    List<String> names = image().stream().map(Instruction::name).toList();
    assertThat(names.subList(names.indexOf("USER"), names.size()))
        .as("all that changes the image is before")
        .doesNotContain("RUN", "COPY", "ADD");
  }

  /** A shell between would keep signals from Java. */
  @Test
  void commands_are_in_the_form_that_needs_no_shell() throws IOException {
    ObjectMapper json = new ObjectMapper();
    String health = one("HEALTHCHECK");
    for (String command :
        List.of(one("ENTRYPOINT"), one("CMD"), health.substring(health.indexOf("CMD") + 4))) {
      assertThat(json.readTree(command).isArray()).as(command).isTrue();
    }
    assertThat(Files.readString(Path.of("docker/entrypoint")))
        .contains("\nexec \"$home/bin/shardtide\" ");
    assertThat(Files.readString(Path.of("src/cli/src/main/assembly/bin/shardtide")))
        .contains("\nexec \"${JAVA_HOME:+$JAVA_HOME/bin/}java\" ");
  }

  @Test
  void labels_say_what_it_is() throws IOException {
    assertThat(one("LABEL"))
        .contains(
            "org.opencontainers.image.title=",
            "org.opencontainers.image.description=",
            "org.opencontainers.image.version=",
            "org.opencontainers.image.revision=",
            "org.opencontainers.image.licenses=\"Apache-2.0\"");
  }

  /** What is copied is there, and is not kept from the build. */
  @Test
  void what_is_copied_is_in_the_context() throws IOException {
    List<String> ignore = Files.readAllLines(Path.of(".dockerignore"));
    assertThat(ignore).contains("*");
    Pattern options = Pattern.compile("--\\S+ ");
    for (String copy : all("COPY").stream().filter(c -> !c.contains("--from=")).toList()) {
      String[] words = options.matcher(copy).replaceAll("").split(" ", -1);
      for (String source : List.of(words).subList(0, words.length - 1)) {
        assertThat(Path.of(source)).exists();
        assertThat(ignore).contains("!" + source);
      }
    }
  }
}
