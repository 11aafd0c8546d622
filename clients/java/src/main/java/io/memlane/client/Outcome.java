package io.memlane.client;

import io.memlane.v1.SearchMemoriesResponse;
import io.memlane.v1.Status;
import java.util.Optional;

/**
 * Outcome of one search of a batch: an answer or an error.
 *
 * @param answer empty on failure
 * @param error empty on success
 */
public record Outcome(Optional<SearchMemoriesResponse> answer, Optional<MemlaneException> error) {
  static Outcome of(Status status, SearchMemoriesResponse response) {
    Optional<MemlaneException> error = Errors.of(status);
    return new Outcome(error.isPresent() ? Optional.empty() : Optional.of(response), error);
  }

  /**
   * The answer.
   *
   * @return what was found
   * @throws MemlaneException why this search failed
   */
  public SearchMemoriesResponse get() {
    return answer.orElseThrow(error::orElseThrow);
  }
}
