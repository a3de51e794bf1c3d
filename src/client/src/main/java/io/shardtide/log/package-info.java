/**
 * The one consumer loop of the project: {@link io.shardtide.log.TopicReader} reads committed
 * records of whole topics and decodes them with {@code wire}'s decoder.
 *
 * <p>In: bytes from Kafka. Out: {@code domain} and {@code cost} values with their positions, and
 * the records that cannot be decoded.
 */
package io.shardtide.log;
