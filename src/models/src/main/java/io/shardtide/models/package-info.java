/**
 * Files of cost models: Avro containers with one bundle, and the bundles that are shipped.
 *
 * <p>The record is also that of the topic of models, so {@code wire} uses its mapping.
 */
package io.shardtide.models;
