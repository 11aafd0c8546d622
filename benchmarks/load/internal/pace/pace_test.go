package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestEvenStartsDoNotDrift(t *testing.T) {
	// 3,000 a second have no whole number of nanoseconds between them: a sum of rounded gaps would run away.
	schedule := Even(3000)
	for number := range 3_000_000 {
		got := schedule.Next()
		want := time.Duration(float64(number) * 1e9 / 3000)
		if difference := got - want; difference < -1 || difference > 1 {
			t.Fatalf("start %d at %v, want %v", number, got, want)
		}
	}
}

func TestEvenKeepsTheRateForAnyRate(t *testing.T) {
	for _, perSecond := range []float64{0.5, 1, 7, 999.5, 20_000} {
		schedule := Even(perSecond)
		first, second := schedule.Next(), schedule.Next()
		if first != 0 {
			t.Errorf("%v a second: the first start is at %v, want 0", perSecond, first)
		}
		if want := 1 / perSecond; math.Abs(second.Seconds()-want) > 1e-8 {
			t.Errorf("%v a second: the second start is at %v s, want %v", perSecond, second.Seconds(), want)
		}
	}
}

func TestPoissonHasTheRateAndTheSpreadOfIndependentCallers(t *testing.T) {
	const perSecond, starts = 500.0, 200_000
	schedule := Poisson(perSecond, rand.New(rand.NewPCG(1, 2)))
	var last, total, squares float64
	for range starts {
		offset := schedule.Next().Seconds()
		if offset < last {
			t.Fatalf("a start at %v s after one at %v s", offset, last)
		}
		gap := offset - last
		last, total, squares = offset, total+gap, squares+gap*gap
	}
	mean := total / starts
	deviation := math.Sqrt(squares/starts - mean*mean)
	// An exponential distribution's mean and deviation are equal; both are known here to within about 0.3 %.
	for name, value := range map[string]float64{"mean": mean, "deviation": deviation} {
		if math.Abs(value*perSecond-1) > 0.02 {
			t.Errorf("%s of the gaps is %v s, want %v", name, value, 1/perSecond)
		}
	}
}

func TestPoissonIsTheSameForTheSameSeed(t *testing.T) {
	one := Poisson(100, rand.New(rand.NewPCG(7, 7)))
	other := Poisson(100, rand.New(rand.NewPCG(7, 7)))
	for number := range 1000 {
		if a, b := one.Next(), other.Next(); a != b {
			t.Fatalf("start %d: %v and %v", number, a, b)
		}
	}
}

func TestSleeperNeverReturnsEarly(t *testing.T) {
	sleeper := NewSleeper()
	defer sleeper.Close()
	for _, wait := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, 3 * time.Millisecond} {
		point := time.Now().Add(wait)
		sleeper.Until(point)
		if time.Now().Before(point) {
			t.Errorf("back before the point %v from the start", wait)
		}
	}
}
