package io.shardtide.web;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The files of the dashboard: these, and no others, whatever path is asked for. */
final class StaticPages {
  private static final String FOLDER = "/dashboard/";
  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "json", "application/json",
          "svg", "image/svg+xml");

  /** Names of all files. */
  static final List<String> FILES =
      List.of(
          "index.html",
          "style.css",
          "icon.svg",
          "app.js",
          "chart.js",
          "compare.js",
          "dom.js",
          "export.js",
          "learning.js",
          "live.js",
          "overview.js",
          "stream.js",
          "table.js",
          "text.js",
          "why.js",
          "workload.js");

  private final Map<String, File> files = new TreeMap<>();

  /**
   * A file.
   *
   * @param type its content type
   * @param content what it holds; read from a duplicate
   */
  record File(String type, ByteBuffer content) {}

  StaticPages() {
    FILES.forEach(name -> files.put("/" + name, read(name)));
    files.put("/", files.get("/index.html"));
    files.put("/api/openapi.json", read("openapi.json"));
  }

  private static File read(String name) {
    try (InputStream in = StaticPages.class.getResourceAsStream(FOLDER + name)) {
      return new File(
          TYPES.get(name.substring(name.lastIndexOf('.') + 1)),
          ByteBuffer.wrap(in.readAllBytes()).asReadOnlyBuffer());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Optional<File> file(String path) {
    return Optional.ofNullable(files.get(path));
  }
}
