package io.shardtide.testing;

import io.shardtide.embedded.EmbeddedKafka;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;

/**
 * A broker as a process of its own, so that it can be killed. Argument: its folder; started on it
 * again it has the same data and the same port. Says where it serves on standard output.
 */
public final class BrokerProgram {
  /** The line that says where it serves begins with this. */
  static final String READY = "broker at ";

  /** Where the port is kept: clients have to find the next broker where the last one was. */
  private static final String PORT_FILE = "port";

  /**
   * Below the ports that Linux gives to outgoing connections, from 32768: those of a client that
   * keeps trying to reach a killed broker may be given the broker's own port.
   */
  private static final int FIRST_PORT = 12_000;

  private static final int PORTS = 20_000;

  private BrokerProgram() {}

  private static int freePort() throws IOException {
    Random random = new Random();
    while (true) {
      int port = FIRST_PORT + random.nextInt(PORTS);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (BindException e) {
        // Another process has it.
      }
    }
  }

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    Path portFile = folder.resolve(PORT_FILE);
    int port = Files.exists(portFile) ? Integer.parseInt(Files.readString(portFile)) : freePort();
    EmbeddedKafka kafka =
        EmbeddedKafka.start(
            folder,
            port,
            Map.of(
                // The controller takes a broker that was killed for alive until this ends, and lets
                // no other in.
                "broker.session.timeout.ms", "1000",
                "broker.heartbeat.interval.ms", "200",
                // So that planners may agree on short ones, and a killed one is soon forgotten.
                "group.min.session.timeout.ms", "1000",
                "transaction.abort.timed.out.transaction.cleanup.interval.ms", "500"));
    String address = kafka.bootstrapServers();
    Files.writeString(
        portFile, address.substring(address.indexOf(':') + 1), StandardCharsets.UTF_8);
    System.out.println(READY + address);
    Thread.currentThread().join();
  }
}
