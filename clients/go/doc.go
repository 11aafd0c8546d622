// Package memlane is the Go client of memlane, the agent-memory service.
//
//	client, err := memlane.Dial("127.0.0.1:7070")
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//
//	_, err = client.Remember(ctx, memlane.RememberMessages("c-1001",
//		memlane.User("我有两个孩子，住在杭州"),
//		memlane.Assistant("好的，我记下了。"),
//	))
//	found, err := client.SearchMemories(ctx, memlane.SearchText("c-1001", "家里几口人？"))
//	for _, hit := range found.GetResults() {
//		fmt.Println(hit.GetScore(), hit.GetMemory().GetContent())
//	}
//
// A [Client] has one method for each call of the contract, with the messages of package memlanev1. The comment of
// each call there says what it does, what it does not, and which errors it ends with. This package adds what a
// caller would otherwise write again and again: request ids, deadlines, retries, reading one's own writes, typed
// errors, and iterators over streams and pages.
package memlane
