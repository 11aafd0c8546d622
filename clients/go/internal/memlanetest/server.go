// Package memlanetest starts real memlane servers for the tests of the client.
package memlanetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	startLimit = 90 * time.Second
	banner     = "memlane is serving on "
)

// Root is the folder of the repository.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
}

// Server is a `memlane serve` process on a free port, with a data directory of its own.
type Server struct {
	// host:port.
	Address string

	process *exec.Cmd
	dir     string
}

// Start returns once the server serves. settings are MEMLANE_ variables; none of the caller's own reach the server.
func Start(settings map[string]string) (*Server, error) {
	dir, err := os.MkdirTemp("", "memlane-go-")
	if err != nil {
		return nil, err
	}
	server := &Server{dir: dir}
	if err := server.start(settings); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return server, nil
}

func (s *Server) start(settings map[string]string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = Command("serve")
	s.process.Stderr = log
	s.process.Env = append(
		s.process.Env,
		"MEMLANE_DATA_DIR="+filepath.Join(s.dir, "data"), "MEMLANE_SERVER__PORT=0", "MEMLANE_INDEX__BUDGET_MIB=512",
	)
	for name, value := range settings {
		s.process.Env = append(s.process.Env, name+"="+value)
	}
	output, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(startLimit, func() { s.process.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), banner); found {
			s.Address = address
			go io.Copy(io.Discard, output)
			return nil
		}
	}
	told, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the server did not start:\n%s", told)
}

// Stop ends the process and removes its data.
func (s *Server) Stop() error {
	if s.process != nil && s.process.Process != nil {
		s.process.Process.Kill()
		s.process.Wait()
	}
	return os.RemoveAll(s.dir)
}

// Command runs the program `memlane` of the repository with no MEMLANE_ variables.
func Command(arguments ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(Root(), ".venv", "bin", "memlane"), arguments...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "MEMLANE_") {
			command.Env = append(command.Env, variable)
		}
	}
	return command
}

// Secured is what a client needs to talk to a server with TLS and tokens.
type Secured struct {
	// Settings of the server.
	Settings map[string]string
	// PEM files: who signed the server's certificate, and the identity of a client.
	CAFile, ClientCertFile, ClientKeyFile string
	// Key with which tokens are signed, PEM file.
	keyFile string
}

// Tokens' issuer and audience.
const (
	issuer   = "memlane-go-tests"
	audience = "memlane"
)

// Secure makes certificates and keys in dir, by the commands that memlane has for it.
func Secure(ctx context.Context, dir string) (*Secured, error) {
	certs, keys := filepath.Join(dir, "certs"), filepath.Join(dir, "keys")
	for _, arguments := range [][]string{{"certs", "--out", certs}, {"keys", "--out", keys}} {
		if _, err := output(ctx, nil, arguments...); err != nil {
			return nil, err
		}
	}
	return &Secured{
		Settings: map[string]string{
			"MEMLANE_SERVER__TLS_CERTIFICATE": filepath.Join(certs, "server.pem"),
			"MEMLANE_SERVER__TLS_KEY":         filepath.Join(certs, "server-key.pem"),
			"MEMLANE_AUTH__JWKS_FILE":         filepath.Join(keys, "jwks.json"),
			"MEMLANE_AUTH__ISSUER":            issuer,
			"MEMLANE_AUTH__AUDIENCE":          audience,
		},
		CAFile:         filepath.Join(certs, "ca.pem"),
		ClientCertFile: filepath.Join(certs, "client.pem"),
		ClientKeyFile:  filepath.Join(certs, "client-key.pem"),
		keyFile:        filepath.Join(keys, "issuer-key.pem"),
	}, nil
}

// Token is one that the server takes, with these scopes. An empty user is a token for every user of the tenant.
func (s *Secured) Token(ctx context.Context, user string, scopes ...string) (string, error) {
	arguments := []string{"token", "--tenant", "default", "--key", s.keyFile}
	for _, scope := range scopes {
		arguments = append(arguments, "--scope", scope)
	}
	if user != "" {
		arguments = append(arguments, "--user", user)
	}
	token, err := output(ctx, s.Settings, arguments...)
	return strings.TrimSpace(token), err
}

func output(ctx context.Context, settings map[string]string, arguments ...string) (string, error) {
	command := Command(arguments...)
	for name, value := range settings {
		command.Env = append(command.Env, name+"="+value)
	}
	stop := context.AfterFunc(ctx, func() {
		if command.Process != nil {
			command.Process.Kill()
		}
	})
	defer stop()
	printed, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return "", fmt.Errorf("memlane %s: %w: %s", arguments[0], err, failed.Stderr)
		}
		return "", fmt.Errorf("memlane %s: %w", arguments[0], err)
	}
	return string(printed), nil
}
