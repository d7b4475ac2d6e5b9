package resolve

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// ttls notes the times to live of the records that a lookup gets. net.Resolver keeps
// them to itself, and does all else that a resolver has to: the hosts file,
// resolv.conf with its search list, retries, long responses by TCP.
type ttls struct {
	mu    sync.Mutex // guards the following
	known bool
	ttl   uint32 // the least, in seconds
}

// least is how long what was found holds.
func (t *ttls) least() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known {
		return unknownTTL
	}
	return min(max(time.Duration(t.ttl)*time.Second, leastTTL), mostTTL)
}

// message takes in a response. What is none, or is malformed, the resolver refuses.
func (t *ttls) message(b []byte) {
	var p dnsmessage.Parser
	if h, err := p.Start(b); err != nil || !h.Response || p.SkipAllQuestions() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		h, err := p.AnswerHeader()
		if err != nil {
			return
		}
		if !t.known || h.TTL < t.ttl {
			t.known, t.ttl = true, h.TTL
		}
		if p.SkipAnswer() != nil {
			return
		}
	}
}

// watch has the messages that come by c noted. What comes back is a net.PacketConn
// where c is one, by which the resolver knows how messages are framed.
func (t *ttls) watch(c net.Conn) net.Conn {
	if u, ok := c.(*net.UDPConn); ok {
		return &packets{UDPConn: u, seen: t}
	}
	return &stream{Conn: c, seen: t}
}

// packets has a message in each packet.
type packets struct {
	*net.UDPConn
	seen *ttls
}

func (p *packets) Read(b []byte) (int, error) {
	n, err := p.UDPConn.Read(b)
	p.seen.message(b[:n])
	return n, err
}

// stream has messages behind their lengths, of two bytes each.
type stream struct {
	net.Conn
	seen *ttls
	had  []byte // of the message under way, its length included
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.had = append(s.had, b[:n]...)
	for len(s.had) >= 2 {
		end := 2 + int(binary.BigEndian.Uint16(s.had))
		if len(s.had) < end {
			break
		}
		s.seen.message(s.had[2:end])
		s.had = s.had[end:]
	}
	return n, err
}
