package drive

import (
	"math"
	"slices"
	"testing"
)

func TestPlansAreRead(t *testing.T) {
	for text, names := range map[string][]string{
		"search":                {"search"},
		"search,echo":           {"search", "echo"},
		"search=90,remember=10": {"search", "remember"},
		"mixed":                 {"search", "remember"},
	} {
		plan, err := ParsePlan(text)
		if err != nil || !slices.Equal(plan.Names, names) {
			t.Errorf("%s: %v, %v", text, plan.Names, err)
		}
	}
	for _, text := range []string{"", "nonsense", "search,", "search=90,echo", "search,echo=1", "search=0", "search=x", "search=NaN"} {
		if plan, err := ParsePlan(text); err == nil {
			t.Errorf("%q was read as %v", text, plan.Names)
		}
	}
}

func TestInTurnsEachScenarioComesOnceARoundInChangingOrder(t *testing.T) {
	plan, err := ParsePlan("search,echo,stream")
	if err != nil {
		t.Fatal(err)
	}
	picks := newPicker(plan, 1, 1)
	orders := map[[3]int]int{}
	for range 600 {
		round := [3]int{picks.next(), picks.next(), picks.next()}
		sorted := slices.Sorted(slices.Values(round[:]))
		if !slices.Equal(sorted, []int{0, 1, 2}) {
			t.Fatalf("a round of %v", round)
		}
		orders[round]++
	}
	if len(orders) != 6 {
		t.Errorf("%d orders came, want all 6: %v", len(orders), orders)
	}
}

func TestAMixHasItsWeights(t *testing.T) {
	plan, err := ParsePlan("mixed")
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	picks, writes := newPicker(plan, 1, 1), 0
	for range draws {
		writes += picks.next()
	}
	if share := float64(writes) / draws; math.Abs(share-0.1) > 0.005 {
		t.Errorf("%v of the calls are writes, want 0.1", share)
	}
}

func TestTheSameSeedGivesTheSameCalls(t *testing.T) {
	plan, err := ParsePlan("mixed")
	if err != nil {
		t.Fatal(err)
	}
	one, other, another := newPicker(plan, 3, 1), newPicker(plan, 3, 1), newPicker(plan, 4, 1)
	same, different := true, false
	for range 1000 {
		a := one.next()
		same = same && a == other.next()
		different = different || a != another.next()
	}
	if !same || !different {
		t.Errorf("equal for the same seed: %v, different for another: %v", same, different)
	}
}
