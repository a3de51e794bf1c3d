package io.shardtide.web;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The files of the dashboard, read once. Requests select among these and cannot name others. */
final class StaticPages {
  private static final String FOLDER = "/dashboard/";
  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "json", "application/json",
          "svg", "image/svg+xml");

  /** Names of our own files; ECharts comes in addition. */
  static final List<String> FILES =
      List.of(
          "index.html",
          "style.css",
          "icon.svg",
          "app.js",
          "chart.js",
          "compare.js",
          "dom.js",
          "events.js",
          "export.js",
          "glossary.js",
          "learning.js",
          "live.js",
          "overview.js",
          "plots.js",
          "pool-picture.js",
          "pool-plots.js",
          "pool.js",
          "pools.js",
          "shards.js",
          "table.js",
          "text.js",
          "why.js",
          "workload-tables.js",
          "workload.js");

  private final Map<String, StaticFile> files = new TreeMap<>();

  /**
   * A file.
   *
   * @param type its content type
   * @param content its bytes; read from a duplicate
   */
  record StaticFile(String type, ByteBuffer content) {}

  StaticPages() {
    FILES.forEach(name -> put("/" + name, name, resource(name)));
    files.put("/", files.get("/index.html"));
    put("/api/openapi.json", "openapi.json", resource("openapi.json"));
    try {
      put("/echarts.js", "echarts.js", ECharts.script());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void put(String path, String name, byte[] content) {
    String type = TYPES.get(name.substring(name.lastIndexOf('.') + 1));
    files.put(path, new StaticFile(type, ByteBuffer.wrap(content).asReadOnlyBuffer()));
  }

  private static byte[] resource(String name) {
    try (InputStream in = StaticPages.class.getResourceAsStream(FOLDER + name)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the file at a path of a URL. */
  Optional<StaticFile> file(String path) {
    return Optional.ofNullable(files.get(path));
  }
}
