package wirevectors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/memlane/memlane/clients/go/internal/memlanetest"
	"github.com/memlane/memlane/clients/go/internal/wirevectors"
)

func cases[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(memlanetest.Root(), "tests", "vectors", "runner", name))
	if err != nil {
		t.Fatal(err)
	}
	var read []T
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if len(read) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return read
}

func TestExpansion(t *testing.T) {
	type expansion struct {
		Comment       string
		Variables     map[string]any
		Input, Output any
		Error         bool
	}
	for _, one := range cases[expansion](t, "expansion.json") {
		t.Run(one.Comment, func(t *testing.T) {
			got, err := wirevectors.Expand(one.Input, one.Variables)
			switch {
			case one.Error != (err != nil):
				t.Errorf("the error is %v", err)
			case !one.Error && !reflect.DeepEqual(got, one.Output):
				t.Errorf("got %v, wanted %v", got, one.Output)
			}
		})
	}
}

func TestMatching(t *testing.T) {
	type matching struct {
		Comment         string
		Template, Value any
		Matches         bool
	}
	for _, one := range cases[matching](t, "matching.json") {
		t.Run(one.Comment, func(t *testing.T) {
			if found := wirevectors.Differences(one.Template, one.Value); one.Matches != (len(found) == 0) {
				t.Errorf("the differences are %q", found)
			}
		})
	}
}

func TestWhatTheFormatDoesNotKnowIsRefused(t *testing.T) {
	for name, step := range map[string]string{
		"no body":                 `{"rpc": "x/Y", "expect": {"response": {}}}`,
		"two bodies":              `{"rpc": "x/Y", "request": {}, "requests": [], "expect": {"response": {}}}`,
		"no outcome":              `{"rpc": "x/Y", "request": {}, "expect": {}}`,
		"unknown outcome":         `{"rpc": "x/Y", "request": {}, "expect": {"answer": {}}}`,
		"unknown key":             `{"rpc": "x/Y", "request": {}, "expect": {"response": {}}, "sleep": 1}`,
		"unknown key of an error": `{"rpc": "x/Y", "request": {}, "expect": {"error": {"code": "OK", "message": ""}}}`,
	} {
		text := `{"name": "n", "description": "", "steps": [` + step + `]}`
		if _, err := wirevectors.Parse([]byte(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	_, err := wirevectors.Parse([]byte(`{"name": "n", "description": "", "requires": ["gpu"], "steps": []}`))
	if err == nil || !strings.Contains(err.Error(), "gpu") {
		t.Errorf("an unknown requirement: %v", err)
	}
}
