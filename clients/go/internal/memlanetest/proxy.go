package memlanetest

import (
	"net"
	"sync"
	"sync/atomic"
)

// Proxy forwards TCP connections to a server and fails on demand.
type Proxy struct {
	// host:port.
	Address string

	listener net.Listener
	target   string
	// Connections that are still to be refused.
	refusals atomic.Int64
	// Connections that were refused.
	refused atomic.Int64
	// What the server sends is thrown away.
	mute atomic.Bool

	mutex sync.Mutex
	open  map[net.Conn]struct{}
}

// NewProxy forwards to target, host:port, until Close.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	proxy := &Proxy{
		Address: listener.Addr().String(), listener: listener, target: target, open: map[net.Conn]struct{}{},
	}
	go proxy.serve()
	return proxy, nil
}

// RefuseNext closes so many connections as soon as they are made.
func (p *Proxy) RefuseNext(connections int) { p.refusals.Store(int64(connections)) }

// Refused is how many connections were closed as soon as they were made.
func (p *Proxy) Refused() int { return int(p.refused.Load()) }

// Mute throws away what the server sends, on all connections, until Cut.
func (p *Proxy) Mute() { p.mute.Store(true) }

// Cut breaks all connections; new ones are forwarded in both directions.
func (p *Proxy) Cut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for connection := range p.open {
		connection.Close()
	}
	clear(p.open)
	p.mute.Store(false)
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Cut()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.refusals.Add(-1) >= 0 {
			p.refused.Add(1)
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mutex.Lock()
		p.open[client], p.open[server] = struct{}{}, struct{}{}
		p.mutex.Unlock()
		go p.forward(server, client, nil)
		go p.forward(client, server, &p.mute)
	}
}

func (p *Proxy) forward(to, from net.Conn, mute *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && (mute == nil || !mute.Load()) {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
