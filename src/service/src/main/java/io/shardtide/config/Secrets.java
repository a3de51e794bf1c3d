package io.shardtide.config;

import java.util.regex.Pattern;

/** Masks secrets in settings that are logged or displayed. */
public final class Secrets {
  private static final String MASK = "********";

  /**
   * Names of secret settings of Kafka's clients and the registry's client, and usual names of other
   * secrets. Also matches a few that are not secret, such as the token endpoint's address.
   */
  private static final Pattern SECRET =
      Pattern.compile(
          "pass|pwd|secret|token(?!\\.file)|jaas|user\\.?info|credential|keystore\\.key|key\\.?id|api\\.?key"
              + "|access\\.?key|private|certificate|header",
          Pattern.CASE_INSENSITIVE);

  /** User and password in a URL. */
  private static final Pattern USER = Pattern.compile("//\\S*@");

  private Secrets() {}

  /**
   * Returns a setting's value with secrets masked.
   *
   * @param key the setting's name, with or without a prefix
   * @param value its value
   */
  public static String shown(String key, String value) {
    return SECRET.matcher(key.replaceAll("[-_]", ".")).find()
        ? MASK
        : USER.matcher(value).replaceAll("//" + MASK + "@");
  }
}
