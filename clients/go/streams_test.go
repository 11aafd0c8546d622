package memlane_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

func TestAStreamAnswersInOrder(t *testing.T) {
	client := dial(t)
	user := newUser()
	create(t, client, user, "对花生过敏")
	stream, err := client.StreamSearchMemories(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	const searches = 300
	sent := make(chan error, 1)
	go func() {
		defer close(sent)
		for n := range searches {
			search := memlane.SearchText(user, fmt.Sprintf("第 %d 问：有什么忌口？", n%10))
			if n%50 == 49 {
				search.UserId = ""
			}
			if err := stream.Send(fmt.Sprintf("问-%d", n), search); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for n := range searches {
		outcome, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if wanted := fmt.Sprintf("问-%d", n); outcome.CorrelationID != wanted {
			t.Fatalf("%q came in the place of %q", outcome.CorrelationID, wanted)
		}
		switch {
		case n%50 == 49 && !errors.Is(outcome.Err, memlane.ErrInvalidArgument):
			t.Errorf("search %d without a user: %v", n, outcome.Err)
		case n%50 != 49 && (outcome.Err != nil || len(outcome.Response.GetResults()) != 1):
			t.Errorf("search %d: %v, %v", n, outcome.Response, outcome.Err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
}

func TestAnOpenStreamSeesWhatIsWrittenMeanwhile(t *testing.T) {
	client := dial(t)
	user := newUser()
	stream, err := client.StreamSearchMemories(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for n := range 5 {
		create(t, client, user, fmt.Sprintf("合同 HT-%d", n))
		if err := stream.Send("", memlane.SearchText(user, "合同")); err != nil {
			t.Fatal(err)
		}
		outcome, err := stream.Recv()
		if err != nil || outcome.Err != nil {
			t.Fatal(err, outcome.Err)
		}
		if got := len(outcome.Response.GetResults()); got != n+1 {
			t.Fatalf("of %d memories %d are found", n+1, got)
		}
	}
}

func TestSearchEachGivesOneOutcomePerSearch(t *testing.T) {
	client := dial(t)
	user := newUser()
	create(t, client, user, "Flies to Shanghai every month")
	searches := []*memlanev1.SearchMemoriesRequest{
		memlane.SearchText(user, "去哪里出差？"), memlane.SearchText("", "x"), memlane.SearchText(user, "Shanghai"),
	}
	var failed []bool
	for outcome, err := range client.SearchEach(limited(t), slices.Values(searches)) {
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, outcome.Err != nil)
	}
	if !slices.Equal(failed, []bool{false, true, false}) {
		t.Errorf("failed: %v", failed)
	}
	// A loop that is left ends the stream; an endless source must not keep it.
	endless := func(yield func(*memlanev1.SearchMemoriesRequest) bool) {
		for yield(searches[0]) {
		}
	}
	for outcome, err := range client.SearchEach(limited(t), endless) {
		if err != nil || outcome.Err != nil {
			t.Fatal(err, outcome.Err)
		}
		break
	}
}

func TestABrokenStreamTellsWhy(t *testing.T) {
	proxy := proxied(t)
	client := dialTo(t, proxy.Address)
	stream, err := client.StreamSearchMemories(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if err := stream.Send("1", memlane.SearchText(newUser(), "孩子")); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	_, err = stream.Recv()
	if !errors.Is(err, memlane.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestABigBatchAnswersInOrder(t *testing.T) {
	client := dial(t)
	users := []string{newUser(), newUser(), newUser()}
	for i, user := range users {
		create(t, client, user, fmt.Sprintf("客户编号 %d", i))
	}
	var searches []*memlanev1.SearchMemoriesRequest
	for n := range 1000 {
		search := memlane.SearchText(users[n%3], "客户编号")
		if n%100 == 99 {
			search.TopK = -1
		}
		searches = append(searches, search)
	}
	outcomes, err := client.BatchSearchMemories(limited(t), searches)
	if err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != len(searches) {
		t.Fatalf("%d outcomes", len(outcomes))
	}
	for n, outcome := range outcomes {
		if n%100 == 99 {
			if !errors.Is(outcome.Err, memlane.ErrInvalidArgument) {
				t.Errorf("search %d: %v", n, outcome.Err)
			}
			continue
		}
		if outcome.Err != nil {
			t.Fatalf("search %d: %v", n, outcome.Err)
		}
		if owner := outcome.Response.GetResults()[0].GetMemory().GetUserId(); owner != users[n%3] {
			t.Fatalf("search %d of %q found a memory of %q", n, users[n%3], owner)
		}
	}
	if _, err := client.BatchSearchMemories(limited(t), nil); !errors.Is(err, memlane.ErrInvalidArgument) {
		t.Errorf("an empty batch: %v", err)
	}
}

func TestAnExportEndsWithItsSummary(t *testing.T) {
	client := dial(t)
	user := newUser()
	for _, content := range []string{"住在杭州", "Prefers e-mail"} {
		create(t, client, user, content)
	}
	request := &memlanev1.ExportUserRequest{UserId: user, Operator: "dpo@bank", Reason: "客户要求"}
	var texts []string
	var summary *memlanev1.ExportSummary
	for record, err := range client.ExportUser(limited(t), request) {
		if err != nil {
			t.Fatal(err)
		}
		if memory := record.GetMemory(); memory != nil {
			texts = append(texts, memory.GetContent())
		}
		summary = record.GetSummary()
	}
	slices.Sort(texts)
	if !slices.Equal(texts, []string{"Prefers e-mail", "住在杭州"}) || summary.GetMemoryCount() != 2 {
		t.Errorf("exported %q, summary %v", texts, summary)
	}
	for range client.ExportUser(limited(t), request) {
		break
	}
}
