package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.AuditAnchor;
import io.memlane.v1.AuditEvent;
import io.memlane.v1.ComplianceServiceGrpc;
import io.memlane.v1.ErasureReceipt;
import io.memlane.v1.ExportUserRequest;
import io.memlane.v1.ExportUserResponse;
import io.memlane.v1.ForgetUserRequest;
import io.memlane.v1.ForgetUserResponse;
import io.memlane.v1.GetLegalHoldRequest;
import io.memlane.v1.GetLegalHoldResponse;
import io.memlane.v1.ListAuditEventsRequest;
import io.memlane.v1.ListAuditEventsResponse;
import io.memlane.v1.PurgeExpiredRequest;
import io.memlane.v1.PurgeExpiredResponse;
import io.memlane.v1.SetLegalHoldRequest;
import io.memlane.v1.SetLegalHoldResponse;
import io.memlane.v1.VerifyAuditLogRequest;
import io.memlane.v1.VerifyAuditLogResponse;

/**
 * Erasure with proof, export, legal hold and the audit log: ComplianceService. Every call needs the
 * scope {@code compliance}.
 */
public final class Compliance extends Calls<Compliance> {
  Compliance(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  Compliance with(Channel channel, CallOptions options) {
    return new Compliance(channel, options);
  }

  /**
   * Erases one user after the retention time. Nothing of them is visible to any read when this
   * returns.
   *
   * @param userId whom to forget
   * @param operator who orders it, at most 64 bytes
   * @param reason why, at most 1024 bytes
   * @return with a receipt to be kept outside the service
   */
  public ForgetUserResponse forgetUser(String userId, String operator, String reason) {
    return forgetUser(
        ForgetUserRequest.newBuilder()
            .setUserId(userId)
            .setOperator(operator)
            .setReason(reason)
            .build());
  }

  /**
   * Erases one user. Nothing of them is visible to any read when this returns.
   *
   * @param request {@code purge_now} removes physically before it returns
   * @return with a receipt to be kept outside the service
   * @throws MemlaneException.LegalHold {@code purge_now} of a user under legal hold
   */
  public ForgetUserResponse forgetUser(ForgetUserRequest request) {
    return call(ComplianceServiceGrpc.getForgetUserMethod(), request);
  }

  /**
   * Everything that is kept about one user, record by record; the last one is the summary.
   *
   * @param userId whose data
   * @param operator who orders it, at most 64 bytes
   * @param reason why, at most 1024 bytes
   * @return the records; close it
   */
  public ResponseStream<ExportUserResponse> exportUser(
      String userId, String operator, String reason) {
    return exportUser(
        ExportUserRequest.newBuilder()
            .setUserId(userId)
            .setOperator(operator)
            .setReason(reason)
            .build());
  }

  /**
   * Everything that is kept about one user, record by record; the last one is the summary.
   *
   * @param request whose data
   * @return the records; close it
   */
  public ResponseStream<ExportUserResponse> exportUser(ExportUserRequest request) {
    return stream(
        ComplianceServiceGrpc.getExportUserMethod(), request, ExportUserResponse::hasSummary);
  }

  /**
   * Puts a user under legal hold, or releases it.
   *
   * @param request releasing the hold of a user who was forgotten under it erases at once what was
   *     kept back
   * @return the hold as it stands now
   */
  public SetLegalHoldResponse setLegalHold(SetLegalHoldRequest request) {
    return call(ComplianceServiceGrpc.getSetLegalHoldMethod(), request);
  }

  /**
   * Whether a user is under legal hold.
   *
   * @param userId whom
   * @return the hold as it stands
   */
  public GetLegalHoldResponse getLegalHold(String userId) {
    return getLegalHold(GetLegalHoldRequest.newBuilder().setUserId(userId).build());
  }

  /**
   * Whether a user is under legal hold.
   *
   * @param request whom
   * @return the hold as it stands
   */
  public GetLegalHoldResponse getLegalHold(GetLegalHoldRequest request) {
    return call(ComplianceServiceGrpc.getGetLegalHoldMethod(), request);
  }

  /**
   * One page of audit events, by rising seq.
   *
   * @param request of one user; with no user_id at all of the whole tenant
   * @return a page
   */
  public ListAuditEventsResponse listAuditEvents(ListAuditEventsRequest request) {
    return call(ComplianceServiceGrpc.getListAuditEventsMethod(), request);
  }

  /**
   * All audit events that concern one user, by rising seq.
   *
   * @param userId whom
   * @return asks for a page when it is reached
   */
  public Iterable<AuditEvent> listAllAuditEvents(String userId) {
    return listAllAuditEvents(ListAuditEventsRequest.newBuilder().setUserId(userId).build());
  }

  /**
   * All audit events that a request asks for, by rising seq.
   *
   * @param request of the first page
   * @return asks for a page when it is reached
   */
  public Iterable<AuditEvent> listAllAuditEvents(ListAuditEventsRequest request) {
    return pages(
        request,
        this::listAuditEvents,
        ListAuditEventsResponse::getEventsList,
        ListAuditEventsResponse::getNextPageToken,
        token -> request.toBuilder().setPageToken(token).build());
  }

  /**
   * Recomputes the hash chain of the audit log. A broken chain is an answer, not an error.
   *
   * @param receipts kept from erasures: the log must still hold their events unchanged
   * @return whether all hashes match
   */
  public VerifyAuditLogResponse verifyAuditLog(ErasureReceipt... receipts) {
    VerifyAuditLogRequest.Builder request = VerifyAuditLogRequest.newBuilder();
    for (ErasureReceipt receipt : receipts) {
      request.addAnchors(
          AuditAnchor.newBuilder()
              .setSeq(receipt.getLastAuditSeq())
              .setHash(receipt.getAuditHeadHash()));
    }
    return verifyAuditLog(request.build());
  }

  /**
   * Recomputes the hash chain of the audit log. A broken chain is an answer, not an error.
   *
   * @param request with anchors that were kept outside the service
   * @return whether all hashes match
   */
  public VerifyAuditLogResponse verifyAuditLog(VerifyAuditLogRequest request) {
    return call(ComplianceServiceGrpc.getVerifyAuditLogMethod(), request);
  }

  /**
   * Does the sweeper's work now: soft-deletes what expired, removes what was due.
   *
   * @param request who orders it and why
   * @return how much there was
   */
  public PurgeExpiredResponse purgeExpired(PurgeExpiredRequest request) {
    return call(ComplianceServiceGrpc.getPurgeExpiredMethod(), request);
  }
}
