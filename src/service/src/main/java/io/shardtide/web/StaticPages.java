package io.shardtide.web;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.eclipse.jetty.http.MimeTypes;

/** The files of the dashboard, each read once. Requests cannot name others. */
final class StaticPages {
  /** The webjar's build with lines, bars and scatter plots, so that no page needs a network. */
  private static final String ECHARTS =
      "/META-INF/resources/webjars/echarts/5.5.0/echarts.common.min.js";

  private static final Pattern PATH =
      Pattern.compile("/|/api/openapi\\.json|/[a-z-]+\\.(html|css|js|svg)");

  private final Map<String, StaticFile> files = new ConcurrentHashMap<>();

  /**
   * A file.
   *
   * @param type its content type
   * @param content its bytes; read from a duplicate
   */
  record StaticFile(String type, ByteBuffer content) {}

  /** Returns the file at a path of a URL. */
  Optional<StaticFile> file(String path) throws IOException {
    if (!PATH.matcher(path).matches()) {
      return Optional.empty();
    }
    if (!files.containsKey(path)) {
      read(path).ifPresent(file -> files.put(path, file));
    }
    return Optional.ofNullable(files.get(path));
  }

  private static Optional<StaticFile> read(String path) throws IOException {
    String name = path.equals("/") ? "/index.html" : path.substring(path.lastIndexOf('/'));
    String resource = name.equals("/echarts.js") ? ECHARTS : "/dashboard" + name;
    try (InputStream in = StaticPages.class.getResourceAsStream(resource)) {
      if (in == null) {
        return Optional.empty();
      }
      String type = MimeTypes.DEFAULTS.getMimeByExtension(name);
      return Optional.of(
          new StaticFile(
              type + "; charset=utf-8", ByteBuffer.wrap(in.readAllBytes()).asReadOnlyBuffer()));
    }
  }
}
