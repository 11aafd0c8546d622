// Package connect opens connections to a memlane server.
package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const maxMessageBytes = 16 << 20

// Target is a server and how to speak to it.
type Target struct {
	Address     string
	Token       string // sent as a bearer token with each call; empty = none
	TLS         bool   // also implied by CA and Certificate
	CA          string // file with the authorities to trust; empty = those of the system
	Certificate string // file with the client's certificate
	Key         string // file with its key
	ServerName  string // to expect in the server's certificate; empty = the host of the address
}

// Dialer opens connections of their own: no two share a TCP connection.
type Dialer struct {
	address string
	options []grpc.DialOption
}

// NewDialer reads the files that the target names.
func NewDialer(target Target) (*Dialer, error) {
	transport, err := transportOf(target)
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		// A call that was refused is a figure of its own; trying it again would hide it.
		grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}
	if target.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer("Bearer "+target.Token)))
	}
	return &Dialer{target.Address, options}, nil
}

// Dial makes a connection; it is established by the first call on it.
func (d *Dialer) Dial() (*grpc.ClientConn, error) {
	return grpc.NewClient(d.address, d.options...)
}

func transportOf(target Target) (credentials.TransportCredentials, error) {
	if !target.TLS && target.CA == "" && target.Certificate == "" {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: target.ServerName}
	if target.CA != "" {
		pem, err := os.ReadFile(target.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", target.CA)
		}
	}
	if (target.Certificate == "") != (target.Key == "") {
		return nil, errors.New("a client certificate and its key go together")
	}
	if target.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(target.Certificate, target.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// bearer is the value of the authorization header.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": string(b)}, nil
}

// RequireTransportSecurity allows a token in the clear: servers on loopback are measured so.
func (bearer) RequireTransportSecurity() bool { return false }
