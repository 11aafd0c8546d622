package scenario

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	vectorCount     = 256
	CachedTextCount = 32 // texts that the cached-text scenarios repeat
)

// randomVectors makes unit vectors as SearchMemories takes them: little-endian float32.
func randomVectors(dimension int, seed uint64) [][]byte {
	random := rand.New(rand.NewPCG(seed, 0))
	encoded := make([][]byte, vectorCount)
	values := make([]float64, dimension)
	for i := range encoded {
		var squares float64
		for j := range values {
			values[j] = random.NormFloat64()
			squares += values[j] * values[j]
		}
		encoded[i] = make([]byte, 0, 4*dimension)
		for _, value := range values {
			bits := math.Float32bits(float32(value / math.Sqrt(squares)))
			encoded[i] = binary.LittleEndian.AppendUint32(encoded[i], bits)
		}
	}
	return encoded
}

var questions = []string{
	"合同 HT-%s 的额度还剩多少？",
	"How much is left of the limit of contract HT-%s?",
	"客户上次问过的第 %s 号产品是什么？",
	"Which branch did the customer visit about request %s?",
}

// question gives the text with that number: Chinese and English in turn.
func question(mark string, number uint64) string {
	return fmt.Sprintf(questions[number%uint64(len(questions))], fmt.Sprintf("%s%d", mark, number))
}

var facts = []string{
	"每月定投基金 %s 元",
	"User pays %s dollars a month into a pension",
	"在分行办理了合同 HT-%s",
	"User holds contract FWD-%s that matures next year",
	"希望用短信接收第 %s 号产品的报价",
	"User asked for an offer of product %s by letter",
}

// fact gives the statement with that number: Chinese and English in turn.
func fact(number uint64) string {
	return fmt.Sprintf(facts[number%uint64(len(facts))], fmt.Sprint(number))
}
