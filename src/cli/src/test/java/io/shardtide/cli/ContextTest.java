package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.files.MalformedFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which cluster is meant if a call does not say it. */
class ContextTest {
  private static final String TWO =
      """
      contexts:
        prod: {bootstrap-server: "kafka:9092", registry: "http://registry:8081", prefix: p.}
        test:
          bootstrap-server: localhost:9092
          registry: http://localhost:8081
          settings: {sasl.jaas.config: secret, client.id: me}
      """;

  @TempDir private Path folder;

  private Context find(String config) throws IOException {
    Path file = Files.writeString(folder.resolve("config.yaml"), config);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return Context.find(Map.of("SHARDTIDE_CONFIG", file.toString()), null, null);
  }

  @Test
  void a_call_counts_before_variables_and_they_before_contexts() throws IOException {
    find("context: prod\n" + TWO);
    Map<String, String> variables = new HashMap<>();
    variables.put("SHARDTIDE_CONFIG", folder.resolve("config.yaml").toString());
    variables.put("SHARDTIDE_BOOTSTRAP_SERVER", "b:1");
    variables.put("SHARDTIDE_REGISTRY", "http://r");
    Context named = Context.find(variables, null, "http://call");
    assertThat(named.bootstrapServer()).isEqualTo("b:1");
    assertThat(named.registry()).isEqualTo("http://call");
    assertThat(named.settings()).isEmpty();
    assertThat(named.prefix()).isEqualTo("shardtide.");
  }

  @Test
  void the_file_is_in_the_users_folder_and_need_not_be_there() throws IOException {
    Map<String, String> home = Map.of("HOME", folder.toString());
    assertThat(Context.find(home, null, null).bootstrapServer()).isNull();
    Path file = folder.resolve(".config/shardtide/config.yaml");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "context: prod\n" + TWO.replace("secret", ""));
    Context context = Context.find(home, null, null);
    assertThat(context)
        .isEqualTo(new Context("kafka:9092", "http://registry:8081", "p.", Map.of()));
    Path named = folder.resolve("nowhere.yaml");
    assertThatThrownBy(() -> Context.find(Map.of("SHARDTIDE_CONFIG", named.toString()), null, null))
        .isInstanceOf(NoSuchFileException.class);
  }

  @Test
  void a_context_brings_its_settings() throws IOException {
    assertThat(find("context: test\n" + TWO).settings())
        .isEqualTo(Map.of("sasl.jaas.config", "secret", "client.id", "me"));
  }

  @Test
  void one_context_needs_no_choice() throws IOException {
    assertThat(find("contexts: {a: {bootstrap-server: b}}").bootstrapServer()).isEqualTo("b");
  }

  @Test
  void a_password_that_others_may_read_is_refused() throws IOException {
    find("context: prod\n" + TWO);
    Path file = folder.resolve("config.yaml");
    Files.writeString(file, "context: test\n" + TWO);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    Map<String, String> variables = Map.of("SHARDTIDE_CONFIG", file.toString());
    assertThatThrownBy(() -> Context.find(variables, null, null))
        .isInstanceOf(MalformedFileException.class)
        .hasMessage(
            file
                + ": others may read it, and it holds sasl.jaas.config of context \"test\". Maybe:"
                + " chmod 600 "
                + file);
    // Without a password in the context that is meant, it may be seen.
    Files.writeString(file, "context: prod\n" + TWO);
    assertThat(Context.find(variables, null, null).bootstrapServer()).isEqualTo("kafka:9092");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          contexts: {a: {}, b: {}}              | : context must be the name of one of its contexts [a, b], got none
          {context: c, contexts: {a: {}}}       | : context must be the name of one of its contexts [a], got "c"
          {contexts: {a: }}                     | : context must be the name of one of its contexts [a], got "a"
          `# nothing`                           | line 1: No content to map
          {contxt: c}                           | line 1: there is no key "contxt". Maybe context.
          {contexts: {a: {registri: x}}}        | line 1: there is no key "registri". Maybe registry.
          {context: a, context: b}              | Duplicate field 'context'
          {contexts: {a: {registry: [1, 2]}}}   | line 1: Cannot deserialize value of type `java.lang.String` from Array value
          {contexts: [a, b]}                    | line 1: Cannot deserialize value
          {contexts                             | line
          """)
  void a_file_that_leaves_something_open_is_named(String config, String problem) {
    assertThatThrownBy(() -> find(config))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageStartingWith(folder.resolve("config.yaml").toString())
        .hasMessageContaining(problem);
  }
}
