/**
 * HTTP server of the service: health and metrics for load balancers and Prometheus, and the
 * dashboard for people.
 *
 * <p>Inputs: suppliers of {@link io.shardtide.web.Health}, of metrics as text and of {@link
 * io.shardtide.views.Views}. Outputs: HTTP responses, and calls of {@link
 * io.shardtide.web.Dashboard.Actions} for users with the token.
 */
package io.shardtide.web;
