/**
 * What a browser, a load balancer or Prometheus sees of a running service: health, metrics, and the
 * dashboard, over HTTP.
 *
 * <p>In flow: suppliers of {@link io.shardtide.web.Health}, of metrics as text and of {@link
 * io.shardtide.views.Views}. Out flow: HTTP answers, and what a person who has the token asks for:
 * {@link io.shardtide.web.Dashboard.Actions}. Imports views.
 */
package io.shardtide.web;
