package memlane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

func create(t testing.TB, client *memlane.Client, user, content string) *memlanev1.Memory {
	t.Helper()
	answer, err := client.CreateMemory(limited(t), &memlanev1.CreateMemoryRequest{UserId: user, Content: content})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetMemory()
}

// listed are the texts of all memories of a user, oldest first.
func listed(t testing.TB, client *memlane.Client, user string) []string {
	t.Helper()
	request := &memlanev1.ListMemoriesRequest{UserId: user, Order: memlanev1.MemoryOrder_MEMORY_ORDER_CREATE_TIME_ASC}
	var texts []string
	all := memlane.All(limited(t), client.ListMemories, request, (*memlanev1.ListMemoriesResponse).GetMemories)
	for memory, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, memory.GetContent())
	}
	return texts
}

func TestRememberUpdatesWhatHasChanged(t *testing.T) {
	client := dial(t)
	for _, said := range []struct{ before, after, wanted string }{
		{"我有两个孩子", "我现在有三个孩子了", "三"},
		{"I have two children", "I have three children now", "three"},
	} {
		t.Run(said.before, func(t *testing.T) {
			user := newUser()
			for _, sentence := range []string{said.before, said.after} {
				request := memlane.RememberMessages(user, memlane.User(sentence), memlane.Assistant("OK"))
				if _, err := client.Remember(limited(t), request); err != nil {
					t.Fatal(err)
				}
			}
			texts := listed(t, client, user)
			if len(texts) != 1 || !strings.Contains(texts[0], said.wanted) {
				t.Errorf("after the correction there are %q", texts)
			}
		})
	}
}

func TestAClientReadsItsOwnWrites(t *testing.T) {
	client := dial(t)
	user := newUser()
	memory := create(t, client, user, "客户偏好电子邮件联系")
	for revision := range int64(20) {
		content := fmt.Sprintf("预算 %d 万元", revision)
		_, err := client.UpdateMemory(limited(t), &memlanev1.UpdateMemoryRequest{
			UserId: user, MemoryId: memory.GetMemoryId(), Content: content, Revision: revision + 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := client.SearchMemories(limited(t), memlane.SearchText(user, "预算"))
		if err != nil {
			t.Fatal(err)
		}
		if got := found.GetResults()[0].GetMemory().GetContent(); got != content {
			t.Fatalf("wrote %q, read %q", content, got)
		}
	}
}

func TestAnotherClientReadsByTheToken(t *testing.T) {
	user := newUser()
	written, err := dial(t).CreateMemory(limited(t), &memlanev1.CreateMemoryRequest{UserId: user, Content: "住在杭州"})
	if err != nil {
		t.Fatal(err)
	}
	read, err := dial(t).GetMemory(limited(t), &memlanev1.GetMemoryRequest{
		UserId: user, MemoryId: written.GetMemory().GetMemoryId(),
		Consistency: memlane.AtLeastAsFresh(written.GetWrittenAt()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(read.GetMemory(), written.GetMemory()) {
		t.Errorf("wrote %v, read %v", written.GetMemory(), read.GetMemory())
	}
}

func TestRequestsAreNotChanged(t *testing.T) {
	client := dial(t)
	user := newUser()
	create(t, client, user, "住在杭州")
	search := memlane.SearchText(user, "住在哪里")
	write := &memlanev1.CreateMemoryRequest{UserId: user, Content: "有两个孩子"}
	list := &memlanev1.ListMemoriesRequest{UserId: user, PageSize: 1}
	requests := []proto.Message{search, write, list}
	var before []proto.Message
	for _, request := range requests {
		before = append(before, proto.Clone(request))
	}
	if _, err := client.CreateMemory(limited(t), write); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SearchMemories(limited(t), search); err != nil {
		t.Fatal(err)
	}
	if _, err := client.BatchSearchMemories(limited(t), []*memlanev1.SearchMemoriesRequest{search}); err != nil {
		t.Fatal(err)
	}
	for _, err := range client.SearchEach(limited(t), slices.Values([]*memlanev1.SearchMemoriesRequest{search})) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range memlane.All(limited(t), client.ListMemories, list, (*memlanev1.ListMemoriesResponse).GetMemories) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, request := range requests {
		if !proto.Equal(request, before[i]) {
			t.Errorf("%v became %v", before[i], request)
		}
	}
}

func TestUnicodeComesBackAsItWent(t *testing.T) {
	client := dial(t)
	composed, decomposed := "é", "e\u0301"
	for _, suffix := range []string{composed, decomposed, "👨‍👩‍👧‍👦", "\u202eabc", "𠮷野家", "tab\tnew\nline", " "} {
		user := newUser() + suffix
		content := "内容 " + suffix + "!"
		create(t, client, user, content)
		if texts := listed(t, client, user); !slices.Equal(texts, []string{content}) {
			t.Errorf("stored %q, listed %q", content, texts)
		}
	}
	// Two spellings of one letter are two users.
	user := newUser()
	create(t, client, user+composed, "one")
	if texts := listed(t, client, user+decomposed); len(texts) != 0 {
		t.Errorf("user %q sees %q of user %q", user+decomposed, texts, user+composed)
	}
}

func TestAllWalksThroughEveryPage(t *testing.T) {
	client := dial(t)
	user := newUser()
	var wanted []string
	for n := range 7 {
		wanted = append(wanted, fmt.Sprintf("第 %d 件事", n))
		create(t, client, user, wanted[n])
	}
	list := &memlanev1.ListMemoriesRequest{
		UserId: user, PageSize: 3, Order: memlanev1.MemoryOrder_MEMORY_ORDER_CREATE_TIME_ASC,
	}
	all := memlane.All(limited(t), client.ListMemories, list, (*memlanev1.ListMemoriesResponse).GetMemories)
	// Ranged over twice: a sequence begins anew each time.
	for range 2 {
		var got []string
		for memory, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, memory.GetContent())
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("listed %q", got)
		}
	}
	for memory := range all {
		if memory.GetContent() != wanted[0] {
			t.Errorf("the first is %q", memory.GetContent())
		}
		break
	}
}

func TestTimeToLiveCanBeTakenAway(t *testing.T) {
	client := dial(t)
	user := newUser()
	written, err := client.CreateMemory(limited(t), &memlanev1.CreateMemoryRequest{
		UserId: user, Content: "未来 30 天预算 50 万美元", Ttl: durationpb.New(30 * 24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	memory := written.GetMemory()
	lifetime := memory.GetExpireTime().AsTime().Sub(memory.GetCreateTime().AsTime())
	if lifetime < 30*24*time.Hour || lifetime > 30*24*time.Hour+2*time.Second {
		t.Errorf("it lives for %v", lifetime)
	}
	changed, err := client.UpdateMemory(limited(t), &memlanev1.UpdateMemoryRequest{
		UserId: user, MemoryId: memory.GetMemoryId(), UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"ttl"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if changed.GetMemory().GetExpireTime() != nil {
		t.Errorf("it still expires at %v", changed.GetMemory().GetExpireTime().AsTime())
	}
}

func TestManyGoroutinesShareOneClient(t *testing.T) {
	client := dial(t)
	shared := newUser()
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			own := newUser()
			for m := range 5 {
				content := fmt.Sprintf("goroutine %d 的第 %d 条", n, m)
				for _, user := range []string{own, shared} {
					if err := writeAndFind(t.Context(), client, user, content); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if texts := listed(t, client, shared); len(texts) != 40 {
		t.Errorf("of 40 concurrent writes to one user %d are there", len(texts))
	}
}

// writeAndFind fails where a read that began after the write does not see it.
func writeAndFind(ctx context.Context, client *memlane.Client, user, content string) error {
	written, err := client.CreateMemory(ctx, &memlanev1.CreateMemoryRequest{UserId: user, Content: content})
	if err != nil {
		return err
	}
	search := memlane.SearchText(user, content)
	search.TopK = 100
	found, err := client.SearchMemories(ctx, search)
	if err != nil {
		return err
	}
	for _, hit := range found.GetResults() {
		if hit.GetMemory().GetMemoryId() == written.GetMemory().GetMemoryId() {
			return nil
		}
	}
	return fmt.Errorf("%q was written and not found", content)
}
