/**
 * Certificates that are read again when their files change, so that they are renewed without a
 * restart.
 *
 * <p>In: TLS settings of Kafka's clients and of the registry's client. Out: TLS engines and sockets
 * for new connections, and when a certificate expires.
 */
package io.shardtide.tls;
