package io.shardtide.growth;

/**
 * What the forecast of a hashed table was made from.
 *
 * @param growth what was reported of it, the latest report included
 * @param idsPerDay growth as its publisher describes it; 0 if unknown
 * @param evicts whether it makes room by itself
 * @param bytesPerSlot bytes of a slot: weights, optimizer state, key and score; above 0
 */
public record TableInputs(
    TableGrowth growth, double idsPerDay, boolean evicts, double bytesPerSlot) {}
