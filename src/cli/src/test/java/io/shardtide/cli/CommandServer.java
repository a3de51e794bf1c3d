package io.shardtide.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Locale;

/**
 * Runs commands one after another in one JVM, for a shell script that stands in for the launcher: a
 * JVM for each documented command would take most of a test's time. The script sends the number of
 * arguments and each argument in Base64, a line each; the answer is the command's output and a last
 * line with the exit status.
 */
final class CommandServer {
  private static final String SCRIPT =
      """
      #!/usr/bin/env bash
      exec 3<>/dev/tcp/127.0.0.1/%d
      { echo $#; for argument in "$@"; do printf '%%s' "$argument" | base64 -w 0; echo; done; } >&3
      mapfile -t lines <&3
      status=${lines[-1]}
      unset 'lines[-1]'
      ((${#lines[@]} == 0)) || printf '%%s\\n' "${lines[@]}"
      exit "$status"
      """;

  private CommandServer() {}

  /**
   * Serves until the process is destroyed.
   *
   * @param args the file that the script is written to
   */
  public static void main(String[] args) throws IOException {
    Locale.setDefault(Locale.ROOT);
    Path script = Path.of(args[0]);
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Path whole = script.resolveSibling(script.getFileName() + ".new");
      Files.writeString(whole, SCRIPT.formatted(server.getLocalPort()));
      if (!whole.toFile().setExecutable(true)) {
        throw new IOException("Cannot make %s executable".formatted(whole));
      }
      Files.move(whole, script);
      while (true) {
        try (Socket caller = server.accept()) {
          serve(caller);
        }
      }
    }
  }

  private static void serve(Socket caller) throws IOException {
    BufferedReader in =
        new BufferedReader(
            new InputStreamReader(caller.getInputStream(), StandardCharsets.US_ASCII));
    String[] command = new String[Integer.parseInt(in.readLine())];
    for (int i = 0; i < command.length; i++) {
      command[i] = new String(Base64.getDecoder().decode(in.readLine()), StandardCharsets.UTF_8);
    }
    PrintWriter out =
        new PrintWriter(
            new OutputStreamWriter(caller.getOutputStream(), StandardCharsets.UTF_8), true);
    int status = Shardtide.run(out, out, command);
    out.printf("%n%d%n", status);
    out.flush();
  }
}
