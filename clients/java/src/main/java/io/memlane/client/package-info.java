/**
 * Client of memlane, the agent-memory service. Begin with {@link io.memlane.client.MemlaneClient};
 * {@link io.memlane.client.MemlaneException} draws the tree of errors. The messages of the contract
 * are in {@code io.memlane.v1}.
 */
package io.memlane.client;
