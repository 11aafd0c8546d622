package memlane

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestThisMachineIsKnown(t *testing.T) {
	for target, want := range map[string]bool{
		"127.0.0.1:7070": true, "localhost:7070": true, "localhost": true, "[::1]:7070": true, "::1": true,
		"dns:///127.0.0.1:7070": true, "dns://8.8.8.8/localhost:7070": true, "unix:/run/memlane.sock": true,
		"unix:///run/memlane.sock": true, "passthrough:///127.0.0.1:1": true,
		"memlane.bank.example:443": false, "10.0.0.1:7070": false, "dns:///memlane.bank.example:443": false,
		"localhost.bank.example:7070": false, "127.0.0.1.bank.example:443": false, "dns://127.0.0.1/bank.example:443": false,
		"0.0.0.0:7070": false, "": false,
	} {
		if got := isLoopback(target); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}

func TestOptionsThatCannotHoldAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		options []Option
		want    string
	}{
		"plain text and TLS":   {[]Option{WithInsecure(), WithTLS()}, "contradict"},
		"no such authority":    {[]Option{WithCACert("no-such-file.pem")}, "no-such-file.pem"},
		"no certificate in it": {[]Option{WithCACert("doc.go")}, "no certificate"},
		"no such identity":     {[]Option{WithMTLS("none.pem", "none-key.pem")}, "none.pem"},
		"pings too often":      {[]Option{WithKeepalive(time.Second)}, "at least 10s"},
		"too many tries":       {[]Option{WithRetry(RetryPolicy{MaxAttempts: 6})}, "1 to 5"},
		"negative pause":       {[]Option{WithRetry(RetryPolicy{InitialBackoff: -1})}, "negative"},
		"negative timeout":     {[]Option{WithDefaultTimeout(-time.Second)}, "negative"},
		"nil token source":     {[]Option{WithTokenSource(nil)}, "nil"},
		"nil TLS":              {[]Option{WithTLSConfig(nil)}, "nil"},
	} {
		client, err := Dial("127.0.0.1:7070", test.options...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v", name, client, err)
		}
	}
}

func TestZerosKeepTheDefaults(t *testing.T) {
	made, err := newOptions([]Option{
		WithTimeouts(Timeouts{Write: time.Second, Bulk: NoTimeout}), WithRetry(RetryPolicy{MaxAttempts: 2}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Timeouts{Read: 5 * time.Second, Write: time.Second, Model: 120 * time.Second, Bulk: NoTimeout}
	if made.timeouts != want {
		t.Errorf("the timeouts are %v", made.timeouts)
	}
	if made.retry != (RetryPolicy{2, 50 * time.Millisecond, 2 * time.Second, 2}) {
		t.Errorf("the policy is %v", made.retry)
	}
}

func TestEveryCallButTheOpenStreamIsTriedAgain(t *testing.T) {
	text, err := RetryPolicy{4, 50 * time.Millisecond, 2 * time.Second, 2}.serviceConfig()
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		MethodConfig []struct {
			Name        []struct{ Service, Method string }
			RetryPolicy struct {
				MaxAttempts          int
				InitialBackoff       string
				RetryableStatusCodes []string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	policy := config.MethodConfig[0].RetryPolicy
	if policy.MaxAttempts != 4 || policy.InitialBackoff != "0.050000000s" ||
		len(policy.RetryableStatusCodes) != 1 || policy.RetryableStatusCodes[0] != "UNAVAILABLE" {
		t.Errorf("the policy is %+v", policy)
	}
	named := map[string]bool{}
	for _, name := range config.MethodConfig[0].Name {
		named["/"+name.Service+"/"+name.Method] = true
	}
	for path, rpc := range methods {
		if named[path] == (rpc.name == "StreamSearchMemories") {
			t.Errorf("%s: tried again is %v", path, named[path])
		}
	}
}

func TestEachCallHasItsPaceAndScope(t *testing.T) {
	const service = "/memlane.v1."
	for path, want := range map[string]struct {
		pace   pace
		scope  scopeKind
		writes bool
	}{
		"MemoryService/Remember":             {paceModel, scopeUser, true},
		"MemoryService/CreateMemory":         {paceWrite, scopeUser, true},
		"MemoryService/SearchMemories":       {paceRead, scopeUser, false},
		"MemoryService/ListMemories":         {paceRead, scopeEverything, false},
		"MemoryService/StreamSearchMemories": {paceOpen, scopeTenant, false},
		"ContextService/BuildContext":        {paceRead, scopeUserAndTenant, false},
		"ContextService/Chat":                {paceModel, scopeEverything, true},
		"KnowledgeService/UpsertKnowledge":   {paceWrite, scopeTenant, true},
		"RuleService/GetRules":               {paceRead, scopeTenant, false},
		"ComplianceService/ForgetUser":       {paceBulk, scopeUser, true},
		"ComplianceService/ExportUser":       {paceBulk, scopeUser, false},
		"ComplianceService/ListAuditEvents":  {paceRead, scopeEverything, false},
		"ComplianceService/PurgeExpired":     {paceBulk, scopeTenant, true},
	} {
		rpc := methods[service+path]
		if rpc == nil {
			t.Fatalf("there is no %s", path)
		}
		if rpc.pace != want.pace || rpc.scope != want.scope || (rpc.requestID != nil) != want.writes {
			t.Errorf("%s: %+v", path, rpc)
		}
	}
}
