package io.shardtide.tls;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.ssl.SSLSocketFactory;

/** TLS sockets for HTTPS whose certificates are read again when their files have changed. */
public final class ReloadingSocketFactory extends SSLSocketFactory {
  private final ReloadingSslEngineFactory stores;

  /**
   * @param stores key store and trust store
   */
  public ReloadingSocketFactory(ReloadingSslEngineFactory stores) {
    this.stores = stores;
  }

  private SSLSocketFactory current() {
    return stores.context().getSocketFactory();
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
