// Package drive makes calls at the pace of a closed or an open loop, and records what comes of them.
package drive

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/memlane/memlane/benchmarks/load/internal/scenario"
)

// Plan is what to call: one scenario, several in turn, or several drawn by weight.
type Plan struct {
	Names   []string
	openers []scenario.Opener
	weights []float64 // nil = in turn
}

// ParsePlan reads "search"; "search,echo" for turns call by call; "search=90,remember=10" for a mix by weight.
// "mixed" stands for the latter.
func ParsePlan(text string) (Plan, error) {
	if text == "mixed" {
		text = "search=90,remember=10"
	}
	var plan Plan
	for part := range strings.SplitSeq(text, ",") {
		name, weight, weighted := strings.Cut(part, "=")
		opener, err := scenario.Find(name)
		if err != nil {
			return Plan{}, err
		}
		if weighted != (plan.weights != nil) && len(plan.Names) > 0 {
			return Plan{}, fmt.Errorf("in %q either all scenarios have a weight or none has", text)
		}
		if weighted {
			value, err := strconv.ParseFloat(weight, 64)
			if err != nil || !(value > 0) {
				return Plan{}, fmt.Errorf("the weight of %s must be a number above 0, is %q", name, weight)
			}
			plan.weights = append(plan.weights, value)
		}
		plan.Names = append(plan.Names, name)
		plan.openers = append(plan.openers, opener)
	}
	return plan, nil
}

// picker says which scenario of a plan comes next. Not safe for concurrent use.
type picker struct {
	plan   Plan
	random *rand.Rand
	round  []int // what is left of this round of turns
}

func newPicker(plan Plan, seed, stream uint64) *picker {
	return &picker{plan: plan, random: rand.New(rand.NewPCG(seed, stream))}
}

// next returns the number of a scenario. In turns, the order is drawn anew for each round, so that none always finds
// the caches as the same predecessor has left them.
func (p *picker) next() int {
	if len(p.plan.Names) == 1 {
		return 0
	}
	if p.plan.weights == nil {
		if len(p.round) == 0 {
			p.round = p.random.Perm(len(p.plan.Names))
		}
		chosen := p.round[0]
		p.round = p.round[1:]
		return chosen
	}
	var total float64
	for _, weight := range p.plan.weights {
		total += weight
	}
	point := p.random.Float64() * total
	for number, weight := range p.plan.weights {
		if point -= weight; point < 0 {
			return number
		}
	}
	return len(p.plan.weights) - 1
}
