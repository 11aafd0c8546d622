package memlane_test

import (
	"crypto/rand"
	randv2 "math/rand/v2"
	"slices"
	"testing"
	"time"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

const (
	benchMemories = 1000
	benchTopK     = 5
	warmUpCalls   = 200
)

// BenchmarkSearchOverEcho alternates, call by call on one connection, a null echo and a search of a warm user with
// 1,000 memories by a vector, and reports the median of each and their ratio: what memory costs above the transport.
// The client that wrote the memories sends its consistency token with each search, the other one has none to send.
//
//	go test -run '^$' -bench SearchOverEcho -benchtime 5000x .
func BenchmarkSearchOverEcho(b *testing.B) {
	writer := dial(b)
	info, err := writer.GetServerInfo(limited(b), &memlanev1.GetServerInfoRequest{})
	if err != nil {
		b.Fatal(err)
	}
	user := newUser()
	fill(b, writer, user, benchMemories)
	searches := vectorSearches(user, int(info.GetEmbedder().GetDimension()))
	b.Run("another client's memories", func(b *testing.B) { searchOverEcho(b, dial(b), searches) })
	b.Run("own memories", func(b *testing.B) { searchOverEcho(b, writer, searches) })
}

func searchOverEcho(b *testing.B, client *memlane.Client, searches []*memlanev1.SearchMemoriesRequest) {
	b.Helper()
	ctx := limited(b)
	echo := &memlanev1.EchoRequest{}
	pair := func(i int) (echoed, searched time.Duration) {
		began := time.Now()
		if _, err := client.Echo(ctx, echo); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		found, err := client.SearchMemories(ctx, searches[i%len(searches)])
		if err != nil {
			b.Fatal(err)
		}
		ended := time.Now()
		if len(found.GetResults()) != benchTopK {
			b.Fatalf("%d results", len(found.GetResults()))
		}
		return middle.Sub(began), ended.Sub(middle)
	}
	for i := range warmUpCalls {
		pair(i)
	}
	var echoes, took []time.Duration
	for b.Loop() {
		echoed, searched := pair(len(echoes))
		echoes, took = append(echoes, echoed), append(took, searched)
	}
	echoMedian, searchMedian := quantile(echoes, 0.5), quantile(took, 0.5)
	b.ReportMetric(micros(echoMedian), "echo-p50-µs")
	b.ReportMetric(micros(searchMedian), "search-p50-µs")
	b.ReportMetric(micros(quantile(took, 0.99)), "search-p99-µs")
	b.ReportMetric(float64(searchMedian)/float64(echoMedian), "search/echo")
}

// vectorSearches are searches by random vectors.
func vectorSearches(user string, dimension int) []*memlanev1.SearchMemoriesRequest {
	random := randv2.New(randv2.NewPCG(1, 1))
	searches := make([]*memlanev1.SearchMemoriesRequest, 64)
	for i := range searches {
		vector := make([]float32, dimension)
		for j := range vector {
			vector[j] = float32(random.NormFloat64())
		}
		searches[i] = memlane.SearchEmbedding(user, vector)
		searches[i].TopK = benchTopK
	}
	return searches
}

// fill gives a user so many memories, each of its own text.
func fill(b *testing.B, client *memlane.Client, user string, memories int) {
	b.Helper()
	words := []string{"每月定投基金", "holds contract", "在分行办理了合同", "visits branch", "希望收到报价", "pays into pension"}
	for n := range memories {
		create(b, client, user, words[n%len(words)]+" "+rand.Text())
	}
}

func quantile(durations []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[int(q*float64(len(sorted)-1))]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
