package io.memlane.client;

import java.io.Serializable;

/**
 * One field of a request that is wrong.
 *
 * @param field path of the field, as {@code messages[2].content}; empty for the request as a whole
 * @param description what is wrong with it, in words for a developer
 */
public record FieldViolation(String field, String description) implements Serializable {}
