package memlane

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// pace is how long a method usually takes: which default deadline it has.
type pace int

const (
	paceRead pace = iota
	paceWrite
	// May wait for a language model.
	paceModel
	// Goes through all data of a user, or of the server.
	paceBulk
	// Lives until it is closed.
	paceOpen
)

// method is one RPC, as its descriptor tells.
type method struct {
	service, name string
	pace          pace
	// Nil where the method changes nothing.
	requestID protoreflect.FieldDescriptor
	// Nil where the caller does not choose how fresh it reads.
	consistency protoreflect.FieldDescriptor
	scope       scopeKind
}

// scopeKind says whose state a method reads or writes.
type scopeKind int

const (
	scopeUser scopeKind = iota
	scopeTenant
	scopeUserAndTenant
	// Reads that are fully consistent unless told otherwise: lists, whose page tokens hold for one consistency only,
	// chat, whose repeat must be the same request byte for byte, and the audit log, which has no user.
	scopeEverything
)

var paces = map[protoreflect.Name]pace{
	"Remember":             paceModel,
	"EndSession":           paceModel,
	"Chat":                 paceModel,
	"ForgetUser":           paceBulk,
	"ExportUser":           paceBulk,
	"SetLegalHold":         paceBulk,
	"VerifyAuditLog":       paceBulk,
	"PurgeExpired":         paceBulk,
	"StreamSearchMemories": paceOpen,
}

var scopeKinds = map[protoreflect.Name]scopeKind{
	"BuildContext":   scopeUserAndTenant,
	"Chat":           scopeEverything,
	"VerifyAuditLog": scopeEverything,
}

// methods holds every RPC by its path.
var methods = func() map[string]*method {
	table := map[string]*method{}
	for _, file := range []protoreflect.FileDescriptor{
		memlanev1.File_memlane_v1_memory_service_proto,
		memlanev1.File_memlane_v1_session_service_proto,
		memlanev1.File_memlane_v1_context_service_proto,
		memlanev1.File_memlane_v1_knowledge_service_proto,
		memlanev1.File_memlane_v1_rule_service_proto,
		memlanev1.File_memlane_v1_compliance_service_proto,
		memlanev1.File_memlane_v1_diagnostics_service_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				rpc := newMethod(service.Methods().Get(j))
				table["/"+rpc.service+"/"+rpc.name] = rpc
			}
		}
	}
	return table
}()

func newMethod(descriptor protoreflect.MethodDescriptor) *method {
	fields := descriptor.Input().Fields()
	rpc := &method{
		service:     string(descriptor.Parent().FullName()),
		name:        string(descriptor.Name()),
		requestID:   fields.ByName("request_id"),
		consistency: fields.ByName("consistency"),
	}
	known := false
	if rpc.pace, known = paces[descriptor.Name()]; !known && rpc.requestID != nil {
		rpc.pace = paceWrite
	}
	if rpc.scope, known = scopeKinds[descriptor.Name()]; !known {
		switch {
		case fields.ByName("page_token") != nil:
			rpc.scope = scopeEverything
		case fields.ByName("user_id") == nil:
			rpc.scope = scopeTenant
		}
	}
	return rpc
}

// scopes of one request.
func (m *method) scopes(request any) []string {
	switch m.scope {
	case scopeTenant:
		return []string{tenantScope}
	case scopeEverything:
		return nil
	}
	named, ok := request.(interface{ GetUserId() string })
	switch {
	case !ok:
		return nil
	case m.scope == scopeUserAndTenant:
		return []string{named.GetUserId(), tenantScope}
	}
	return []string{named.GetUserId()}
}
