package io.shardtide;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Texts of core and models are in records and ids: no locale of a program may change them. */
class FormatsTest {
  private static final String TEXT = "\"(?:[^\"\\\\\\n]|\\\\.)*\"";

  /** A literal, or several in parentheses, and {@code formatted}. */
  private static final Pattern FORMATTED =
      Pattern.compile("(" + TEXT + "|\\([^;{}]*?\\))\\s*\\.formatted\\(");

  /** What a locale may change: all but texts and percent signs. */
  private static final Pattern LOCALIZED = Pattern.compile("%[^s%]");

  private static final Pattern WITHOUT_LOCALE =
      Pattern.compile(
          "String\\.format\\(\\s*+(?!Locale\\.ROOT)|::formatted|to(Lower|Upper)Case\\(\\)"
              + "|ofPattern\\([^,)]*\\)");

  @ParameterizedTest
  @ValueSource(strings = {"core", "models"})
  void numbers_are_written_without_the_locale_of_the_program(String module) throws IOException {
    List<String> wrong = new ArrayList<>();
    try (Stream<Path> files = Files.walk(Path.of("src", module, "src", "main", "java"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
        String code = Files.readString(file);
        Matcher formatted = FORMATTED.matcher(code);
        while (formatted.find()) {
          if (LOCALIZED.matcher(formatted.group(1).replace("%%", "")).find()) {
            wrong.add(file + ": " + formatted.group(1));
          }
        }
        Matcher others = WITHOUT_LOCALE.matcher(code);
        while (others.find()) {
          wrong.add(file + ": " + others.group());
        }
      }
    }
    assertThat(wrong).as("write %%s, or String.format(Locale.ROOT, ..)").isEmpty();
  }
}
