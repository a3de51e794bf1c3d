package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Arguments are UTF-8 whatever the locale, or refused: Java would replace what it cannot decode.
 */
class ArgumentEncodingTest {
  private static final String MISSING = " plan --out plans.jsonl --workloads ";

  private record EndedCommand(int status, String err) {}

  /** Runs a command of a shell, which gives bytes that this Java could not. */
  private static EndedCommand shell(String locale, String command) throws Exception {
    ProcessBuilder builder = new ProcessBuilder("bash", "-c", "exec " + command);
    builder.environment().keySet().removeIf(name -> name.matches("LC_.*|LANG.*"));
    builder.environment().put("LC_ALL", locale);
    builder.environment().put("SHARDTIDE_CLASSPATH", System.getProperty("java.class.path"));
    Process process = builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
    return new EndedCommand(process.exitValue(), err);
  }

  @ParameterizedTest
  @ValueSource(strings = {"C", "POSIX", "C.UTF-8", "de_DE.ISO-8859-1", ""})
  void the_launcher_takes_utf8_in_every_locale(String locale) throws Exception {
    EndedCommand ended =
        shell(
            locale, "src/cli/src/main/assembly/bin/shardtide" + MISSING + "$'caf\\xc3\\xa9.jsonl'");
    // Bash says so first where the locale is not installed.
    assertThat(ended.err()).endsWith("shardtide: caf\u00e9.jsonl does not exist\n");
    assertThat(ended.status()).isEqualTo(2);
  }

  @Test
  void bytes_that_are_not_utf8_are_refused() throws Exception {
    EndedCommand ended =
        shell("C", "src/cli/src/main/assembly/bin/shardtide" + MISSING + "$'caf\\xe9.jsonl'");
    assertThat(ended.err())
        .startsWith("shardtide: arguments must be UTF-8, got \"caf\ufffd.jsonl\"");
    assertThat(ended.status()).isEqualTo(2);
  }

  /** As from another launcher. */
  @Test
  void java_in_a_locale_that_is_not_utf8_refuses_what_it_replaces() throws Exception {
    String java =
        System.getProperty("java.home")
            + "/bin/java -cp \"$SHARDTIDE_CLASSPATH\" io.shardtide.cli.Shardtide";
    EndedCommand ended = shell("C", java + MISSING + "$'caf\\xc3\\xa9.jsonl'");
    assertThat(ended.err()).startsWith("shardtide: arguments must be UTF-8, got \"caf");
    assertThat(ended.status()).isEqualTo(2);
    assertThat(Shardtide.isUtf8("plain", "ANSI_X3.4-1968")).isTrue();
    // Of UTF-8 bytes; each is a letter in Latin-1.
    assertThat(Shardtide.isUtf8("caf\u00c3\u00a9", "ISO-8859-1")).isFalse();
    assertThat(Shardtide.isUtf8("caf\u00e9", "UTF-8")).isTrue();
  }
}
