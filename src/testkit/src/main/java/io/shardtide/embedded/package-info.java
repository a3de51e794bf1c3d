/**
 * A real Kafka broker and a schema registry in this process, on loopback, for the demo and tests.
 */
package io.shardtide.embedded;
