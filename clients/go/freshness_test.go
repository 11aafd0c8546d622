package memlane

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// asked is what freshness wants for these scopes, in short.
func asked(f *freshness, scopes ...string) string {
	wanted := f.wanted(scopes...)
	switch {
	case wanted == nil:
		return "nothing"
	case wanted.GetFullyConsistent():
		return "full"
	}
	return wanted.GetAtLeastAsFresh().GetToken()
}

func TestTheLastOfWritesInTurnIsWanted(t *testing.T) {
	f := newFreshness(10)
	for _, token := range []string{"t1", "t2"} {
		f.wrote("王芳", token, f.begin(), false)
	}
	if got := asked(f, "王芳"); got != "t2" {
		t.Errorf("wanted %s", got)
	}
	if got := asked(f, "Emma"); got != "nothing" {
		t.Errorf("of a user who wrote nothing %s is wanted", got)
	}
}

func TestWritesThatOverlapAreSettledByAFullRead(t *testing.T) {
	f := newFreshness(10)
	first, second := f.begin(), f.begin()
	f.wrote("u", "t2", second, false)
	f.wrote("u", "t1", first, false)
	if got := asked(f, "u"); got != "full" {
		t.Fatalf("after writes that overlapped %s is wanted", got)
	}
	f.read([]string{"u"}, "too-early", first)
	if got := asked(f, "u"); got != "full" {
		t.Fatalf("a read that began before the writes ended settled them: %s", got)
	}
	f.read([]string{"u"}, "r3", f.begin())
	if got := asked(f, "u"); got != "r3" {
		t.Errorf("after the read %s is wanted", got)
	}
}

func TestAReplayHasNoKnownAge(t *testing.T) {
	f := newFreshness(10)
	f.wrote("u", "t5", f.begin(), false)
	f.wrote("u", "t5", f.begin(), true)
	if got := asked(f, "u"); got != "t5" {
		t.Errorf("the same token again: %s", got)
	}
	f.wrote("u", "t1", f.begin(), true)
	if got := asked(f, "u"); got != "full" {
		t.Errorf("a replay was taken for the newest write: %s", got)
	}
}

func TestWhatFallsOutIsNotLost(t *testing.T) {
	f := newFreshness(2)
	for n := range 5 {
		f.wrote(fmt.Sprintf("u%d", n), fmt.Sprintf("t%d", n), f.begin(), false)
	}
	if len(f.marks) != 2 || f.order.Len() != 2 {
		t.Fatalf("%d marks are kept", len(f.marks))
	}
	for scope, want := range map[string]string{"u4": "t4", "u3": "t3", "u0": "t2", "new": "t2"} {
		if got := asked(f, scope); got != want {
			t.Errorf("of %s %s is wanted", scope, got)
		}
	}
	if got := asked(f, "u0", "u4"); got != "t4" {
		t.Errorf("of two scopes %s is wanted", got)
	}
}

// Random calls of one user, against the positions that the server would give: what is wanted always covers every
// write that was answered.
func TestWhatIsWantedCoversEveryAnsweredWrite(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		f := newFreshness(1 + random.IntN(3))
		scopes := []string{"甲", "b", "c"}
		type call struct {
			scope           string
			began, position int64
		}
		var open []call
		newest := map[string]int64{}
		position := int64(0)
		for range 60 {
			switch random.IntN(3) {
			case 0:
				// The server gives the position at any time between begin and answer; here at the begin or at the end.
				one := call{scope: scopes[random.IntN(3)], began: f.begin()}
				if random.IntN(2) == 0 {
					position++
					one.position = position
				}
				open = append(open, one)
			case 1:
				if len(open) == 0 {
					continue
				}
				at := random.IntN(len(open))
				one := open[at]
				open = append(open[:at], open[at+1:]...)
				if one.position == 0 {
					position++
					one.position = position
				}
				f.wrote(one.scope, strconv.FormatInt(one.position, 10), one.began, false)
				newest[one.scope] = max(newest[one.scope], one.position)
			default:
				scope := scopes[random.IntN(3)]
				began := f.begin()
				got := asked(f, scope)
				if got == "full" {
					f.read([]string{scope}, strconv.FormatInt(position, 10), began)
					continue
				}
				held, err := strconv.ParseInt(got, 10, 64)
				if err != nil && (got != "nothing" || newest[scope] != 0) {
					t.Fatalf("wanted %s, the newest write is %d", got, newest[scope])
				}
				if err == nil && held < newest[scope] {
					t.Fatalf("wanted %d, the newest write is %d", held, newest[scope])
				}
			}
		}
	}
}
