package io.shardtide.config;

/** Settings for people: a table for the documentation, and a file to begin with. */
public final class SettingsText {
  private SettingsText() {}

  /** Returns all settings as a table in Markdown. */
  public static String table() {
    StringBuilder table =
        new StringBuilder("| key | values | default | meaning |\n|---|---|---|---|\n");
    for (Setting setting : Settings.all()) {
      String fallback =
          setting.fallback().map(f -> f.isEmpty() ? "none" : "`" + f + "`").orElse("required");
      table.append(
          "| `%s` | %s | %s | %s |\n"
              .formatted(setting.key(), setting.values(), fallback, setting.meaning()));
    }
    return table.toString();
  }

  /** Returns a settings file with every key; those that have a default are commented out. */
  public static String example() {
    StringBuilder file = new StringBuilder();
    for (Setting setting : Settings.all()) {
      file.append("# %s%n# Values: %s.%n".formatted(setting.meaning(), setting.values()));
      file.append(setting.fallback().isPresent() ? "#" : "");
      file.append("%s=%s%n%n".formatted(setting.key(), setting.example()));
    }
    return file.append(
            """
            # Any setting of Kafka's clients and of Kafka Streams, prefixed with "kafka.".
            #kafka.security.protocol=SASL_SSL

            # Any setting of the registry's client, prefixed with "registry.".
            #registry.basic.auth.credentials.source=USER_INFO
            """)
        .toString();
  }
}
