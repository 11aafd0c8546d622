package memlane

import (
	"encoding/binary"
	"math"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// User is a message of the customer, the only source of facts. Set CreateTime and TimeZone where they are known:
// "yesterday" and 上周 are worked out from them.
func User(content string) *memlanev1.Message {
	return &memlanev1.Message{Role: memlanev1.Role_ROLE_USER, Content: content}
}

// Assistant is a message of the assistant.
func Assistant(content string) *memlanev1.Message {
	return &memlanev1.Message{Role: memlanev1.Role_ROLE_ASSISTANT, Content: content}
}

// System is an instruction to the assistant.
func System(content string) *memlanev1.Message {
	return &memlanev1.Message{Role: memlanev1.Role_ROLE_SYSTEM, Content: content}
}

// Tool is the result of a tool that the assistant called.
func Tool(content string) *memlanev1.Message {
	return &memlanev1.Message{Role: memlanev1.Role_ROLE_TOOL, Content: content}
}

// RememberMessages asks to learn from a conversation.
func RememberMessages(userID string, messages ...*memlanev1.Message) *memlanev1.RememberRequest {
	return &memlanev1.RememberRequest{
		UserId: userID,
		Source: &memlanev1.RememberRequest_Conversation{
			Conversation: &memlanev1.Conversation{Messages: messages},
		},
	}
}

// RememberFacts asks to learn facts that the caller states itself: nothing is extracted, but each is decided and
// guarded like any other.
func RememberFacts(userID string, facts ...string) *memlanev1.RememberRequest {
	stated := make([]*memlanev1.Fact, len(facts))
	for i, fact := range facts {
		stated[i] = &memlanev1.Fact{Content: fact}
	}
	return &memlanev1.RememberRequest{
		UserId: userID,
		Source: &memlanev1.RememberRequest_Facts{Facts: &memlanev1.FactList{Facts: stated}},
	}
}

// RememberSession asks to learn from the window of a session.
func RememberSession(userID, sessionID string) *memlanev1.RememberRequest {
	return &memlanev1.RememberRequest{
		UserId: userID,
		Source: &memlanev1.RememberRequest_SessionId{SessionId: sessionID},
	}
}

// SearchText is a search by a text in any language, scored by meaning and by words. Set TopK, MinScore, filters and
// so on in what it returns.
func SearchText(userID, query string) *memlanev1.SearchMemoriesRequest {
	return &memlanev1.SearchMemoriesRequest{
		UserId: userID,
		Input:  &memlanev1.SearchMemoriesRequest_Query{Query: query},
	}
}

// SearchEmbedding is a search by a vector of the server's embedder, scored by cosine alone.
func SearchEmbedding(userID string, embedding []float32) *memlanev1.SearchMemoriesRequest {
	return &memlanev1.SearchMemoriesRequest{
		UserId: userID,
		Input:  &memlanev1.SearchMemoriesRequest_EmbeddingF32{EmbeddingF32: Float32Bytes(embedding)},
	}
}

// ContextFor asks for the context of a turn in which the user says query. sessionID may be empty: no window.
func ContextFor(userID, sessionID, query string) *memlanev1.BuildContextRequest {
	return &memlanev1.BuildContextRequest{
		UserId:    userID,
		SessionId: sessionID,
		Input:     &memlanev1.BuildContextRequest_Query{Query: query},
	}
}

// Turn asks for one turn of the assistant in which the user says content.
func Turn(userID, sessionID, content string) *memlanev1.ChatRequest {
	return &memlanev1.ChatRequest{UserId: userID, SessionId: sessionID, Message: User(content)}
}

// Rules replaces the rules of the tenant by these; none = no rules.
func Rules(rules ...string) *memlanev1.PutRulesRequest {
	return &memlanev1.PutRulesRequest{
		Source: &memlanev1.PutRulesRequest_Rules{Rules: &memlanev1.RuleList{Rules: rules}},
	}
}

// Float32Bytes is a vector as the contract's embedding_f32 wants it: little-endian, 4 bytes a value.
func Float32Bytes(vector []float32) []byte {
	packed := make([]byte, 0, 4*len(vector))
	for _, value := range vector {
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(value))
	}
	return packed
}

// MinimizeLatency asks for an answer from what the replica has applied already.
func MinimizeLatency() *memlanev1.Consistency {
	return &memlanev1.Consistency{Requirement: &memlanev1.Consistency_MinimizeLatency{MinimizeLatency: true}}
}

// AtLeastAsFresh asks for an answer from a state that holds the write which returned this written_at: another
// process's write, for a client asks for its own by itself.
func AtLeastAsFresh(writtenAt *memlanev1.ConsistencyToken) *memlanev1.Consistency {
	return &memlanev1.Consistency{Requirement: &memlanev1.Consistency_AtLeastAsFresh{AtLeastAsFresh: writtenAt}}
}

// FullyConsistent asks for an answer from a state that holds every write acknowledged before the call.
func FullyConsistent() *memlanev1.Consistency {
	return &memlanev1.Consistency{Requirement: &memlanev1.Consistency_FullyConsistent{FullyConsistent: true}}
}
