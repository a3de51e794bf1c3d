/**
 * What a browser, a load balancer or Prometheus sees of a running service: health and metrics over
 * HTTP.
 *
 * <p>In flow: suppliers of {@link io.shardtide.web.Health} and of metrics as text. Out flow: HTTP
 * answers. Reads only; nothing here changes the service. Imports nothing of Shardtide.
 */
package io.shardtide.web;
