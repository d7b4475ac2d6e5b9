// Package dnstest is a DNS server on loopback, for tests: its records can be changed
// while it runs, and it can fail in the ways in which servers do.
package dnstest

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"whittle/internal/fatal"
)

// Server answers for the names that it was given, over UDP and TCP on one port.
type Server struct {
	// Address is host:port.
	Address string

	mu      sync.Mutex // guards the following
	records map[string][]dnsmessage.Resource
	faults  Faults
}

// Faults are what a server does wrong.
type Faults struct {
	Code     dnsmessage.RCode // of every answer
	Silent   bool             // no query is answered
	Truncate bool             // queries by UDP are sent to TCP
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{records: map[string][]dnsmessage.Resource{}}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal.If(t, err)
	p, err := lc.ListenPacket(t.Context(), "udp", l.Addr().String())
	fatal.If(t, err)
	s.Address = l.Addr().String()
	var all sync.WaitGroup
	all.Go(func() { s.packets(p) })
	all.Go(func() { s.streams(l, &all) })
	t.Cleanup(func() {
		_ = p.Close()
		l.Close()
		all.Wait()
	})
	return s
}

// Set gives a name its addresses, for so many seconds. None: the name exists and has
// no address.
func (s *Server) Set(name string, ttl uint32, addresses ...string) {
	records := []dnsmessage.Resource{}
	for _, a := range addresses {
		ip, h := netip.MustParseAddr(a), header(name, ttl)
		if ip.Is4() {
			h.Type = dnsmessage.TypeA
			records = append(records, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
			continue
		}
		h.Type = dnsmessage.TypeAAAA
		records = append(records, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
	}
	s.put(name, records)
}

// Alias makes a name another one for a target, which has records of its own here.
func (s *Server) Alias(name string, ttl uint32, target string) {
	h := header(name, ttl)
	h.Type = dnsmessage.TypeCNAME
	s.put(name, []dnsmessage.Resource{{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(dotted(target))}}})
}

func (s *Server) put(name string, records []dnsmessage.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[strings.ToLower(dotted(name))] = records
}

// Remove has a name not exist any more.
func (s *Server) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, strings.ToLower(dotted(name)))
}

// Fail has the server do wrong from now on; the zero value: nothing any more.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

func header(name string, ttl uint32) dnsmessage.ResourceHeader {
	return dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(dotted(name)), Class: dnsmessage.ClassINET, TTL: ttl}
}

func dotted(name string) string { return strings.TrimSuffix(name, ".") + "." }

func (s *Server) packets(p net.PacketConn) {
	b := make([]byte, 4096)
	for {
		n, from, err := p.ReadFrom(b)
		if err != nil {
			return
		}
		if reply := s.reply(b[:n], true); reply != nil {
			_, _ = p.WriteTo(reply, from) // whoever does not get it looks the name up again
		}
	}
}

func (s *Server) streams(l net.Listener, all *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		all.Go(func() {
			defer c.Close()
			var length [2]byte
			if _, err := io.ReadFull(c, length[:]); err != nil {
				return
			}
			b := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			reply := s.reply(b, false)
			_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)) // as above
		})
	}
}

func (s *Server) reply(query []byte, packet bool) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var q dnsmessage.Message
	if q.Unpack(query) != nil || len(q.Questions) != 1 || s.faults.Silent {
		return nil
	}
	of := q.Questions[0]
	name := strings.ToLower(of.Name.String())
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: q.ID, Response: true, Authoritative: true, RCode: s.faults.Code, Truncated: packet && s.faults.Truncate},
		Questions: q.Questions,
	}
	records, exists := s.records[name]
	switch {
	case m.RCode != dnsmessage.RCodeSuccess, m.Truncated:
	case !exists:
		m.RCode = dnsmessage.RCodeNameError
	default:
		m.Answers = s.answers(records, of.Type)
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// answers are the records of a type, behind those of a name that is another's.
func (s *Server) answers(records []dnsmessage.Resource, of dnsmessage.Type) (out []dnsmessage.Resource) {
	for _, r := range records {
		if r.Header.Type == of {
			out = append(out, r)
		}
		if alias, ok := r.Body.(*dnsmessage.CNAMEResource); ok {
			out = append(append(out, r), s.answers(s.records[strings.ToLower(alias.CNAME.String())], of)...)
		}
	}
	return out
}
