package io.shardtide.tls;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;
import javax.net.ssl.SSLSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** TLS sockets for HTTPS whose certificates are read again when their files have changed. */
public final class ReloadingSocketFactory extends SSLSocketFactory {
  private static final Logger log = LoggerFactory.getLogger(ReloadingSocketFactory.class);

  private final List<Path> files;
  private final Supplier<SSLSocketFactory> reader;
  private List<Long> read;
  private SSLSocketFactory current;

  /**
   * @param files key store and trust store
   * @param reader reads them; any exception means that they cannot be used
   */
  public ReloadingSocketFactory(Collection<Path> files, Supplier<SSLSocketFactory> reader) {
    this.files = List.copyOf(files);
    this.reader = reader;
    read = modified();
    current = reader.get();
  }

  /** Returns when each file was changed; 0 for one that is not there. */
  private List<Long> modified() {
    return files.stream().map(file -> file.toFile().lastModified()).toList();
  }

  private synchronized SSLSocketFactory current() {
    List<Long> now = modified();
    if (!now.equals(read)) {
      read = now;
      try {
        current = reader.get();
        log.info("The certificates were read again: {}", files);
      } catch (RuntimeException e) {
        log.warn(
            "The changed certificates cannot be used: {} ({}). New connections use the last ones; replace the files, with the same passwords",
            files,
            e.toString());
      }
    }
    return current;
  }

  @Override
  public String[] getDefaultCipherSuites() {
    return current().getDefaultCipherSuites();
  }

  @Override
  public String[] getSupportedCipherSuites() {
    return current().getSupportedCipherSuites();
  }

  @Override
  public Socket createSocket() throws IOException {
    return current().createSocket();
  }

  @Override
  public Socket createSocket(Socket socket, String host, int port, boolean autoClose)
      throws IOException {
    return current().createSocket(socket, host, port, autoClose);
  }

  @Override
  public Socket createSocket(String host, int port) throws IOException {
    return current().createSocket(host, port);
  }

  @Override
  public Socket createSocket(String host, int port, InetAddress localHost, int localPort)
      throws IOException {
    return current().createSocket(host, port, localHost, localPort);
  }

  @Override
  public Socket createSocket(InetAddress host, int port) throws IOException {
    return current().createSocket(host, port);
  }

  @Override
  public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort)
      throws IOException {
    return current().createSocket(address, port, localAddress, localPort);
  }
}
