package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.memlane.v1.Consistency;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("local")
class FreshnessTest {
  private final Freshness freshness = Freshness.perScope(3);

  @Test
  void nothingWrittenNothingWanted() {
    assertNull(wanted("王芳"));
  }

  @Test
  void theLastOfWritesOneAfterTheOther() {
    write("王芳", "t1");
    write("王芳", "t2");
    assertEquals(Values.atLeast("t2"), wanted("王芳"));
    assertNull(wanted("李明"));
  }

  @Test
  void anAnswerThatComesLateDoesNotTakeThePlaceOfANewerWrite() {
    long slow = freshness.begin();
    long quick = freshness.begin();
    freshness.wrote("a", "quick", quick, false);
    write("a", "later");
    freshness.wrote("a", "slow", slow, false);
    // "later" began after "quick" was answered; "slow" overlapped both.
    assertEquals(Values.fullyConsistent(), wanted("a"));
  }

  @Test
  void aFullyConsistentReadSettlesWritesThatOverlapped() {
    long first = freshness.begin();
    long second = freshness.begin();
    freshness.wrote("a", "t1", first, false);
    freshness.wrote("a", "t2", second, false);
    assertEquals(Values.fullyConsistent(), wanted("a"));

    freshness.read(List.of("a"), "r", freshness.begin());
    assertEquals(Values.atLeast("r"), wanted("a"));
  }

  @Test
  void aReadThatBeganBeforeTheWritesEndedSettlesNothing() {
    long first = freshness.begin();
    long second = freshness.begin();
    long read = freshness.begin();
    freshness.wrote("a", "t1", first, false);
    freshness.wrote("a", "t2", second, false);
    freshness.read(List.of("a"), "r", read);
    assertEquals(Values.fullyConsistent(), wanted("a"));
  }

  @Test
  void aReplaysTokenMayBeOld() {
    write("a", "t1");
    freshness.wrote("a", "t0", freshness.begin(), true);
    assertEquals(Values.fullyConsistent(), wanted("a"));
  }

  @Test
  void severalScopesWantTheNewestOfThem() {
    write("a", "t1");
    write(Rpc.TENANT, "t2");
    assertEquals(Values.atLeast("t2"), freshness.wanted(List.of("a", Rpc.TENANT)));
  }

  @Test
  void whatFallsOutOfMemoryHoldsForEveryoneUnknown() {
    for (String user : List.of("a", "b", "c", "d")) {
      write(user, "t-" + user);
    }
    assertEquals(Values.atLeast("t-a"), wanted("a"));
    assertEquals(Values.atLeast("t-a"), wanted("never seen"));
    assertEquals(Values.atLeast("t-d"), wanted("d"));
  }

  @Test
  void oneMarkForAll() {
    Freshness single = Freshness.single();
    assertEquals(Optional.empty(), single.token());
    single.wrote("a", "t1", single.begin(), false);
    single.wrote("b", "t2", single.begin(), false);
    assertEquals(Optional.of("t2"), single.token());
    assertEquals(Values.atLeast("t2"), single.wanted(List.of("c")));
  }

  private void write(String scope, String token) {
    freshness.wrote(scope, token, freshness.begin(), false);
  }

  private Consistency wanted(String scope) {
    return freshness.wanted(List.of(scope));
  }
}
