package memlane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
)

// WithTLS connects with TLS and the roots that this machine trusts, also to this machine itself. Every connection to
// another machine has TLS without this.
func WithTLS() Option {
	return withTLS(func(*tls.Config) error { return nil })
}

// WithCACert trusts those servers only whose certificate was signed by one of the authorities in this PEM file.
func WithCACert(file string) Option {
	return withTLS(func(config *tls.Config) error {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("certificate authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("certificate authorities: no certificate in %s", file)
		}
		return nil
	})
}

// WithMTLS shows a client certificate. Both are PEM files, the first with the whole chain. They are read anew for
// each connection, so that a certificate may be renewed while the client runs.
func WithMTLS(certFile, keyFile string) Option {
	return withTLS(func(config *tls.Config) error {
		load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
			if err != nil {
				return nil, fmt.Errorf("client certificate: %w", err)
			}
			return &certificate, nil
		}
		config.GetClientCertificate = load
		_, err := load(nil)
		return err
	})
}

// WithServerName expects this name in the server's certificate, instead of the host of the target.
func WithServerName(name string) Option {
	return withTLS(func(config *tls.Config) error {
		config.ServerName = name
		return nil
	})
}

// WithTLSConfig connects with TLS as config says, for what the other options cannot; give it before them.
func WithTLSConfig(config *tls.Config) Option {
	return func(o *options) error {
		if config == nil {
			return errors.New("the TLS configuration is nil")
		}
		o.tls = config.Clone()
		return nil
	}
}

func withTLS(change func(*tls.Config) error) Option {
	return func(o *options) error {
		if o.tls == nil {
			o.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		return change(o.tls)
	}
}

// bearer sends the token of a source with each try.
type bearer struct {
	source TokenSource
	secure bool
}

var _ credentials.PerRPCCredentials = bearer{}

func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.source(ctx)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }

// isLoopback tells whether a target is this machine itself: a Unix socket, localhost or a loopback address.
func isLoopback(target string) bool {
	scheme, rest, found := strings.Cut(target, ":")
	if found {
		switch scheme {
		case "unix", "unix-abstract":
			return true
		case "dns", "passthrough":
			target = rest[strings.LastIndex(rest, "/")+1:]
		}
	}
	host := target
	if name, _, err := net.SplitHostPort(target); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
