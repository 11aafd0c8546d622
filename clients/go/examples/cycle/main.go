// Command cycle goes once through the life of what is known about two customers, one Chinese, one English: remember,
// correct, search, build a context, look back, forget, and verify the audit log. Start a server first
// (`memlane serve`), then:
//
//	go run ./examples/cycle [-target host:port]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

// customer is what one customer says. Both are invented.
type customer struct {
	userID                         string
	introduction                   []*memlanev1.Message
	correction, question, children string
}

var customers = []customer{
	{
		userID: "example-客户-林知夏",
		introduction: []*memlanev1.Message{
			memlane.User("我是苏州澄湖电子的财务总监。我有两个孩子。"),
			memlane.Assistant("林女士您好！您在产品选择上有什么偏好吗？"),
			memlane.User("我比较保守，不接受带杠杆的产品。以后有汇率报价请发邮件给我。"),
		},
		correction: "我现在有三个孩子了。",
		question:   "欧元收款想锁定汇率，有什么合适的产品？",
		children:   "我有几个孩子？",
	},
	{
		userID: "example-customer-emma-clarke",
		introduction: []*memlanev1.Message{
			memlane.User("I'm the owner of Harvest Lane, a bakery chain in Leeds. I have two children."),
			memlane.Assistant("Welcome, Ms Clarke! Is there anything we should keep in mind?"),
			memlane.User("I prefer email over phone calls. I don't want any product with leverage."),
		},
		correction: "I have three children now.",
		question:   "Which product would fix our exchange rate?",
		children:   "How many children do I have?",
	},
}

func main() {
	target := flag.String("target", "127.0.0.1:7070", "host:port of the server")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, *target, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, target string, out io.Writer) (err error) {
	client, err := memlane.Dial(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for _, one := range customers {
		fmt.Fprintf(out, "\n== %s\n", one.userID)
		for _, step := range []func(context.Context, *memlane.Client, customer, io.Writer) error{
			remember, search, buildContext, lookBack, forget,
		} {
			if err := step(ctx, client, one, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// remember lets the server learn from two conversations; the second corrects the first.
func remember(ctx context.Context, client *memlane.Client, one customer, out io.Writer) error {
	correction := []*memlanev1.Message{memlane.User(one.correction)}
	for _, said := range [][]*memlanev1.Message{one.introduction, correction} {
		learned, err := client.Remember(ctx, memlane.RememberMessages(one.userID, said...))
		if err != nil {
			return err
		}
		for _, operation := range learned.GetOperations() {
			fmt.Fprintf(out, "%v %s", operation.GetAction(), operation.GetMemory().GetContent())
			if before := operation.GetPrevious(); before != nil {
				fmt.Fprintf(out, " (was: %s)", before.GetContent())
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}

func search(ctx context.Context, client *memlane.Client, one customer, out io.Writer) error {
	request := memlane.SearchText(one.userID, one.children)
	request.TopK = 1
	found, err := client.SearchMemories(ctx, request)
	if err != nil {
		return err
	}
	for _, hit := range found.GetResults() {
		fmt.Fprintf(out, "%s -> %s (%.2f)\n", one.children, hit.GetMemory().GetContent(), hit.GetScore())
	}
	return nil
}

func buildContext(ctx context.Context, client *memlane.Client, one customer, out io.Writer) error {
	request := memlane.ContextFor(one.userID, "", one.question)
	request.BudgetTokens = 1000
	built, err := client.BuildContext(ctx, request)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "context of %d tokens:\n%s\n", built.GetTotalTokens(), built.GetSystemPrompt())
	return nil
}

// lookBack shows the memory that was corrected as it was and as it is.
func lookBack(ctx context.Context, client *memlane.Client, one customer, out io.Writer) error {
	request := &memlanev1.ListMemoriesRequest{UserId: one.userID}
	all := memlane.All(ctx, client.ListMemories, request, (*memlanev1.ListMemoriesResponse).GetMemories)
	for memory, err := range all {
		if err != nil {
			return err
		}
		if memory.GetRevision() == 1 {
			continue
		}
		history, err := client.ListMemoryRevisions(ctx, &memlanev1.ListMemoryRevisionsRequest{
			UserId: one.userID, MemoryId: memory.GetMemoryId(),
		})
		if err != nil {
			return err
		}
		for _, step := range history.GetRevisions() {
			fmt.Fprintf(out, "revision %d: %v %s\n", step.GetRevision(), step.GetAction(), step.GetContent())
		}
	}
	return nil
}

// forget erases the customer, and checks that the receipt stands in an audit log that nobody has altered.
func forget(ctx context.Context, client *memlane.Client, one customer, out io.Writer) error {
	forgotten, err := client.ForgetUser(ctx, &memlanev1.ForgetUserRequest{
		UserId: one.userID, Operator: "example", Reason: "end of the example / 示例结束",
	})
	if err != nil {
		return err
	}
	receipt := forgotten.GetReceipt()
	fmt.Fprintf(out, "forgotten: %d memories\n", forgotten.GetMemoryCount())
	audit, err := client.VerifyAuditLog(ctx, &memlanev1.VerifyAuditLogRequest{
		Anchors: []*memlanev1.AuditAnchor{{Seq: receipt.GetLastAuditSeq(), Hash: receipt.GetAuditHeadHash()}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "audit log valid: %v, %d events\n", audit.GetValid(), audit.GetEventsChecked())
	return nil
}
