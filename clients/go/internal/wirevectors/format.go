// Package wirevectors reads the wire vectors of tests/vectors; the README there says what each part means.
package wirevectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Capabilities are what a vector may require of a server.
var Capabilities = []string{"no_model", "dimension_512", "local_embedder"}

// Vector is one file.
type Vector struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Requires    []string `json:"requires"`
	Steps       []Step   `json:"steps"`
}

// Step is one call and what must come of it.
type Step struct {
	Comment string `json:"comment"`
	// As `memlane.v1.MemoryService/CreateMemory`.
	RPC            string            `json:"rpc"`
	Request        any               `json:"request"`
	RequestBase64  *string           `json:"request_base64"`
	Requests       any               `json:"requests"`
	Until          any               `json:"until"`
	TimeoutSeconds float64           `json:"timeout_seconds"`
	Expect         map[string]any    `json:"expect"`
	Save           map[string]string `json:"save"`
}

const defaultTimeoutSeconds = 10

// Load reads one file and refuses what the format does not know.
func Load(path string) (*Vector, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	vector, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if stem := strings.TrimSuffix(filepath.Base(path), ".json"); vector.Name != stem {
		return nil, fmt.Errorf("%s calls itself %s", path, vector.Name)
	}
	return vector, nil
}

// Parse reads the text of one file.
func Parse(text []byte) (*Vector, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	vector := &Vector{}
	if err := decoder.Decode(vector); err != nil {
		return nil, err
	}
	for _, name := range vector.Requires {
		if !slices.Contains(Capabilities, name) {
			return nil, fmt.Errorf("`requires` knows no %s", name)
		}
	}
	for i := range vector.Steps {
		if err := vector.Steps[i].check(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return vector, nil
}

func (s *Step) check() error {
	bodies := 0
	for _, given := range []bool{s.Request != nil, s.RequestBase64 != nil, s.Requests != nil} {
		if given {
			bodies++
		}
	}
	if bodies != 1 {
		return errors.New("one of request, request_base64 and requests is needed")
	}
	if len(s.Expect) != 1 {
		return errors.New("`expect` has one key")
	}
	for key, expected := range s.Expect {
		switch key {
		case "response", "responses":
		case "error":
			wanted, ok := expected.(map[string]any)
			if !ok {
				return errors.New("`error` is an object")
			}
			for part := range wanted {
				if !slices.Contains([]string{"code", "reason", "fields", "metadata"}, part) {
					return fmt.Errorf("an error knows no %s", part)
				}
			}
		default:
			return fmt.Errorf("`expect` knows no %s", key)
		}
	}
	if s.TimeoutSeconds == 0 {
		s.TimeoutSeconds = defaultTimeoutSeconds
	}
	return nil
}
