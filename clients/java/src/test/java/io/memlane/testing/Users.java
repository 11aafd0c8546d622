package io.memlane.testing;

import java.util.UUID;

/** Ids of users that no other test knows. */
public final class Users {
  private Users() {}

  /** A new customer, whose id is not ASCII. */
  public static String any() {
    return "客户-" + UUID.randomUUID();
  }
}
