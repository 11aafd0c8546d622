package memlane_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

// speak answers as an OpenAI-compatible endpoint does, piece by piece.
func speak(pieces ...string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "text/event-stream")
		event := func(delta map[string]string, reason any) {
			choice := map[string]any{"index": 0, "delta": delta, "finish_reason": reason}
			text, _ := json.Marshal(map[string]any{
				"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "spoken",
				"choices": []any{choice},
			})
			fmt.Fprintf(writer, "data: %s\n\n", text)
			writer.(http.Flusher).Flush()
		}
		for _, piece := range pieces {
			event(map[string]string{"role": "assistant", "content": piece}, nil)
		}
		event(map[string]string{}, "stop")
		fmt.Fprint(writer, "data: [DONE]\n\n")
	}
}

func TestChatStreamsATurn(t *testing.T) {
	pieces := []string{"您有", "两个孩子，", "I have noted that."}
	model := httptest.NewServer(speak(pieces...))
	defer model.Close()
	client := dialOwn(t, map[string]string{
		"MEMLANE_CHAT__BASE_URL": model.URL + "/v1", "MEMLANE_CHAT__MODEL": "spoken", "MEMLANE_CHAT__API_KEY": "none",
		"MEMLANE_MEMORY__DECIDER": "rules",
	})

	user := newUser()
	if _, err := client.Remember(limited(t), memlane.RememberFacts(user, "有两个孩子")); err != nil {
		t.Fatal(err)
	}
	turn := memlane.Turn(user, "s-1", "我有几个孩子？")
	turn.RequestId = "turn-1"
	var kinds, deltas []string
	for event, err := range client.Chat(limited(t), turn) {
		if err != nil {
			t.Fatal(err)
		}
		switch kind := event.GetEvent().(type) {
		case *memlanev1.ChatResponse_Context:
			kinds = append(kinds, "context")
			if !strings.Contains(kind.Context.GetSystemPrompt(), "有两个孩子") {
				t.Errorf("the model was told %q", kind.Context.GetSystemPrompt())
			}
		case *memlanev1.ChatResponse_Delta:
			deltas = append(deltas, kind.Delta)
		case *memlanev1.ChatResponse_Done:
			kinds = append(kinds, "done")
		}
	}
	if !slices.Equal(kinds, []string{"context", "done"}) || strings.Join(deltas, "") != strings.Join(pieces, "") {
		t.Errorf("the events are %q, the answer %q", kinds, deltas)
	}
	window, err := client.GetWindow(limited(t), &memlanev1.GetWindowRequest{UserId: user, SessionId: "s-1"})
	if err != nil {
		t.Fatal(err)
	}
	if said := window.GetMessages(); len(said) != 2 || said[1].GetContent() != strings.Join(pieces, "") {
		t.Errorf("the window holds %v", said)
	}
	// A repeat of the turn asks no model: it is the recorded answer.
	model.Config.Handler = speak("another answer")
	var again strings.Builder
	for event, err := range client.Chat(limited(t), turn) {
		if err != nil {
			t.Fatal(err)
		}
		again.WriteString(event.GetDelta())
	}
	if again.String() != strings.Join(pieces, "") {
		t.Errorf("the repeat says %q", again.String())
	}
	// A loop that is left ends the turn: the window stays as it was.
	for range client.Chat(limited(t), memlane.Turn(user, "s-2", "你好")) {
		break
	}
}
