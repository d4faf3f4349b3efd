package harness

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A Link is a TCP connection between two programs that can be made to fail: slow, cut, refused or silent.
type Link struct {
	listener net.Listener
	target   func() (string, error)

	mutex       sync.Mutex
	delay       time.Duration
	silent      bool
	refused     bool
	connections map[net.Conn]struct{}
	accepted    int
}

// newLink listens on an address, and connects whoever comes with what target says at that moment.
func newLink(address string, target func() (string, error)) (*Link, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	link := &Link{listener: listener, target: target, connections: map[net.Conn]struct{}{}}
	go link.serve()
	return link, nil
}

// Address is where the link listens.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Delay holds back whatever is sent from now on, each way.
func (l *Link) Delay(delay time.Duration) { l.set(func() { l.delay = delay }) }

// Silence takes connections and sends nothing on, until it is taken back.
func (l *Link) Silence(silent bool) { l.set(func() { l.silent = silent }) }

// Refuse closes whatever connects, until it is taken back.
func (l *Link) Refuse(refused bool) { l.set(func() { l.refused = refused }) }

// Cut ends all connections. New ones are taken.
func (l *Link) Cut() {
	l.set(func() {
		for connection := range l.connections {
			connection.Close()
		}
	})
}

// Accepted is how many connections were made so far.
func (l *Link) Accepted() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.accepted
}

func (l *Link) set(change func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change()
}

func (l *Link) close() {
	l.listener.Close()
	l.Cut()
}

func (l *Link) serve() {
	for {
		connection, err := l.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		go l.connect(connection)
	}
}

func (l *Link) connect(client net.Conn) {
	defer client.Close()
	l.mutex.Lock()
	l.accepted++
	refused := l.refused
	l.mutex.Unlock()
	if refused {
		return
	}
	address, err := l.target()
	if err != nil {
		return
	}
	server, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	l.set(func() { l.connections[client], l.connections[server] = struct{}{}, struct{}{} })
	defer l.set(func() {
		delete(l.connections, client)
		delete(l.connections, server)
	})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		l.copy(server, client)
	}()
	l.copy(client, server)
	<-sent
}

// copy sends on what comes, and that nothing more comes. A broken connection breaks the other one too.
func (l *Link) copy(to, from net.Conn) {
	buffer := make([]byte, 32*1024)
	for {
		count, err := from.Read(buffer)
		if count > 0 {
			l.wait()
			if _, err := to.Write(buffer[:count]); err != nil {
				from.Close()
				return
			}
		}
		if half, ok := to.(*net.TCPConn); ok && err == io.EOF {
			_ = half.CloseWrite()
			return
		}
		if err != nil {
			to.Close()
			return
		}
	}
}

// wait holds back what is to be sent, as long as the link is silent or slow.
func (l *Link) wait() {
	for {
		l.mutex.Lock()
		silent, delay := l.silent, l.delay
		l.mutex.Unlock()
		if !silent {
			time.Sleep(delay)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
