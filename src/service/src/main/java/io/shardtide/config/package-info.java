/**
 * Settings of the service: an immutable record, the keys of a settings file, and its parser.
 *
 * <p>In flow: a file. Out flow: {@link io.shardtide.config.ServiceSettings}, or all problems of the
 * file at once. No message contains a secret.
 */
package io.shardtide.config;
