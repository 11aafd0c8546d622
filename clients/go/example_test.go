package memlane_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

// exampleClient connects to the server of the tests.
func exampleClient() *memlane.Client {
	client, err := memlane.Dial(target, access...)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func ExampleClient() {
	client := exampleClient() // memlane.Dial("127.0.0.1:7070")
	defer client.Close()
	ctx := context.Background()

	for _, sentence := range []string{"我有两个孩子", "我现在有三个孩子了"} {
		learned, err := client.Remember(ctx, memlane.RememberMessages("example-1", memlane.User(sentence)))
		if err != nil {
			log.Fatal(err)
		}
		for _, operation := range learned.GetOperations() {
			fmt.Println(operation.GetAction(), "revision", operation.GetMemory().GetRevision())
		}
	}
	found, err := client.SearchMemories(ctx, memlane.SearchText("example-1", "几个孩子？"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found.GetResults()), "memory")
	// Output:
	// ACTION_ADD revision 1
	// ACTION_UPDATE revision 2
	// 1 memory
}

func ExampleDial() {
	client, err := memlane.Dial(
		"memlane.bank.example:443",
		memlane.WithCACert("testdata/no-such-root.pem"),
		memlane.WithTokenSource(func(context.Context) (string, error) { return "the current token", nil }),
		memlane.WithTimeouts(memlane.Timeouts{Read: 200 * time.Millisecond}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	// Output: memlane: certificate authorities: open testdata/no-such-root.pem: no such file or directory
}

func ExampleError() {
	client := exampleClient()
	defer client.Close()

	_, err := client.CreateMemory(context.Background(), &memlanev1.CreateMemoryRequest{UserId: "example-2"})
	var failure *memlane.Error
	if errors.As(err, &failure) {
		fmt.Println(errors.Is(err, memlane.ErrInvalidArgument), failure.Reason)
		for _, violation := range failure.Violations {
			fmt.Println(violation.Field)
		}
	}
	// Output:
	// true INVALID_FIELD
	// content
}

func ExampleClient_SearchEach() {
	client := exampleClient()
	defer client.Close()
	ctx := context.Background()

	for _, fact := range []string{"Flies to Shanghai every month", "偏好靠窗的座位", "对花生过敏"} {
		if _, err := client.Remember(ctx, memlane.RememberFacts("example-3", fact)); err != nil {
			log.Fatal(err)
		}
	}
	var searches []*memlanev1.SearchMemoriesRequest
	for _, question := range []string{"Where does she travel to?", "喜欢坐哪里？", "有什么忌口？"} {
		search := memlane.SearchText("example-3", question)
		search.TopK = 1
		searches = append(searches, search)
	}
	for outcome, err := range client.SearchEach(ctx, slices.Values(searches)) {
		if err != nil {
			log.Fatal(err)
		}
		for _, hit := range outcome.Response.GetResults() {
			fmt.Println(hit.GetMemory().GetContent())
		}
	}
	// Output:
	// Flies to Shanghai every month
	// 偏好靠窗的座位
	// 对花生过敏
}

func ExampleAll() {
	client := exampleClient()
	defer client.Close()
	ctx := context.Background()

	for n := range 3 {
		request := &memlanev1.CreateMemoryRequest{UserId: "example-4", Content: fmt.Sprintf("合同 HT-%d", n)}
		if _, err := client.CreateMemory(ctx, request); err != nil {
			log.Fatal(err)
		}
	}
	list := &memlanev1.ListMemoriesRequest{
		UserId: "example-4", PageSize: 2, Order: memlanev1.MemoryOrder_MEMORY_ORDER_CREATE_TIME_ASC,
	}
	for memory, err := range memlane.All(ctx, client.ListMemories, list, (*memlanev1.ListMemoriesResponse).GetMemories) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(memory.GetContent())
	}
	// Output:
	// 合同 HT-0
	// 合同 HT-1
	// 合同 HT-2
}

func ExampleClient_ExportUser() {
	client := exampleClient()
	defer client.Close()
	ctx := context.Background()

	if _, err := client.Remember(ctx, memlane.RememberFacts("example-5", "Prefers e-mail")); err != nil {
		log.Fatal(err)
	}
	request := &memlanev1.ExportUserRequest{UserId: "example-5", Operator: "dpo@bank", Reason: "客户要求"}
	for record, err := range client.ExportUser(ctx, request) {
		if err != nil {
			log.Fatal(err)
		}
		if memory := record.GetMemory(); memory != nil {
			fmt.Println("memory:", memory.GetContent())
		}
		if summary := record.GetSummary(); summary != nil {
			fmt.Println("complete:", summary.GetMemoryCount(), "memory")
		}
	}
	// Output:
	// memory: Prefers e-mail
	// complete: 1 memory
}
