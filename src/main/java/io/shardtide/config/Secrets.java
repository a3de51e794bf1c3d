package io.shardtide.config;

import java.util.regex.Pattern;

/** What of a setting may be shown to whoever reads a log or a terminal. */
public final class Secrets {
  private static final String HIDDEN = "********";

  /**
   * Names of settings of Kafka's clients and the registry's that hold a secret, and names that
   * people give to their own. Hides a few that are none, such as the address that tokens come from.
   */
  private static final Pattern SECRET =
      Pattern.compile(
          "pass|pwd|secret|token(?!\\.file)|jaas|user\\.?info|credential|keystore\\.key|key\\.?id|api\\.?key"
              + "|access\\.?key|private|certificate|header",
          Pattern.CASE_INSENSITIVE);

  /** The user and the password of an address. */
  private static final Pattern USER = Pattern.compile("//\\S*@");

  private Secrets() {}

  /**
   * Returns a setting's value as it may be shown.
   *
   * @param key the setting's name, with or without a prefix
   * @param value its value
   */
  public static String shown(String key, String value) {
    return SECRET.matcher(key.replaceAll("[-_]", ".")).find()
        ? HIDDEN
        : USER.matcher(value).replaceAll("//" + HIDDEN + "@");
  }
}
