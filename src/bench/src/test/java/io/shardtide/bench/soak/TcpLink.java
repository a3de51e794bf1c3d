package io.shardtide.bench.soak;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A network link: a loopback port whose connections go on to the first of several addresses that
 * accepts them. It can be cut, so that nothing arrives and nobody is told, as a network does, and
 * it can be slow.
 */
final class TcpLink implements AutoCloseable {
  private static final int CONNECT_MILLIS = 1_000;
  private static final int BUFFER_BYTES = 64 * 1024;

  private final ServerSocket server;
  private final List<InetSocketAddress> targets;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "soak-link");
            thread.setDaemon(true);
            return thread;
          });
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private boolean isCut;
  private volatile long delayMillis;

  private TcpLink(ServerSocket server, List<InetSocketAddress> targets) {
    this.server = server;
    this.targets = targets;
  }

  /**
   * Opens a link.
   *
   * @param port port on loopback, or 0 for any free one
   * @param targets where connections go on to, in this order
   */
  static TcpLink open(int port, List<InetSocketAddress> targets) throws IOException {
    TcpLink link =
        new TcpLink(new ServerSocket(port, 128, InetAddress.getLoopbackAddress()), targets);
    link.threads.execute(link::accept);
    return link;
  }

  /** Returns its port. */
  int port() {
    return server.getLocalPort();
  }

  /** Nothing arrives any more; connections stay open. */
  synchronized void cut() {
    isCut = true;
  }

  /**
   * What is sent from now on arrives. Connections of before are closed: what was on its way is lost
   * with them.
   */
  synchronized void mend() {
    isCut = false;
    open.forEach(TcpLink::close);
    notifyAll();
  }

  /** Everything arrives so much later. */
  void delay(Duration delay) {
    delayMillis = delay.toMillis();
  }

  private synchronized void awaitMended() throws InterruptedException {
    while (isCut) {
      wait();
    }
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket near = server.accept();
        open.add(near);
        threads.execute(() -> connect(near));
      } catch (IOException e) {
        // Closed, or a connection that was given up before it was accepted.
      }
    }
  }

  private void connect(Socket near) {
    try {
      awaitMended();
      Socket far = far();
      open.add(far);
      near.setTcpNoDelay(true);
      far.setTcpNoDelay(true);
      threads.execute(() -> copy(near, far));
      copy(far, near);
    } catch (IOException e) {
      close(near);
    } catch (InterruptedException e) {
      close(near);
      Thread.currentThread().interrupt();
    }
  }

  private Socket far() throws IOException {
    IOException refused = new IOException("There is no target");
    for (InetSocketAddress target : targets) {
      Socket socket = new Socket();
      try {
        socket.connect(target, CONNECT_MILLIS);
        return socket;
      } catch (IOException e) {
        refused = e;
        close(socket);
      }
    }
    throw refused;
  }

  /** Copies until one side closes; then closes both. */
  private void copy(Socket from, Socket to) {
    byte[] buffer = new byte[BUFFER_BYTES];
    try {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        awaitMended();
        if (delayMillis > 0) {
          Thread.sleep(delayMillis);
        }
        out.write(buffer, 0, read);
        out.flush();
      }
    } catch (IOException e) {
      // One side is gone: the other one is told below.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      close(from);
      close(to);
      open.remove(from);
      open.remove(to);
    }
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    threads.shutdownNow();
    open.forEach(TcpLink::close);
  }
}
