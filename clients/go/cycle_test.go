package memlane_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The example, run as a reader would run it: in plain text.
func TestTheExampleGoesThroughTheCycle(t *testing.T) {
	printed, err := exec.CommandContext(limited(t), "go", "run", "./examples/cycle", "-target", plainTarget).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	text := string(printed)
	for _, want := range []string{
		"ACTION_UPDATE ", "三个孩子", "three children", "两个孩子", "two children",
		"【用户历史信息】", "revision 1: ACTION_ADD ", "revision 2: ACTION_UPDATE ", "audit log valid: true",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Count(text, "audit log valid: true") != 2 || strings.Contains(text, "forgotten: 0 ") {
		t.Error("not every customer was forgotten")
	}
	if t.Failed() {
		t.Log(text)
	}
}
