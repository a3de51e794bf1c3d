package io.shardtide.web;

import java.io.IOException;
import java.io.InputStream;

/**
 * Apache ECharts, the chart library of the dashboard and of the evaluation report, as its makers
 * publish it. The webjar on the class path contains it, so that no page needs a network.
 */
public final class ECharts {
  /** The build with lines, bars and scatter plots, two thirds of the full size. */
  static final String RESOURCE = "/META-INF/resources/webjars/echarts/5.5.0/echarts.common.min.js";

  private ECharts() {}

  /**
   * Returns the script, which defines the global {@code echarts}, in UTF-8.
   *
   * @throws IllegalStateException if the webjar is missing from the class path
   */
  public static byte[] script() throws IOException {
    try (InputStream in = ECharts.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException(RESOURCE + " is missing from the class path");
      }
      return in.readAllBytes();
    }
  }
}
