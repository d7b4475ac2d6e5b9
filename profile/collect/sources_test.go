package collect

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/profile"
)

// heard passes the connections at an address on to another, and collects what comes back.
func heard(t *testing.T, to string) (at string, said func() string) {
	t.Helper()
	line, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	var all bytes.Buffer
	over := make(chan struct{})
	go func() {
		defer close(over)
		client, err := line.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		io.Copy(client, io.TeeReader(server, &all))
	}()
	said = func() string {
		line.Close()
		<-over
		return all.String()
	}
	t.Cleanup(func() { line.Close() })
	return line.Addr().String(), said
}

// A process that is asked for its scripts pauses at no debugger statement of its own.
func TestNothingPausesAtADebuggerStatement(t *testing.T) {
	pid := script(t, "console.log(); const again = () => { debugger; setImmediate(again) }; again()")
	s, err := Open(t.Context(), strconv.Itoa(pid))
	fatal.If(t, err)
	defer s.Close(t.Context())
	u, err := url.Parse(s.Address())
	fatal.If(t, err)
	at, said := heard(t, u.Host)
	u.Host = at
	i, err := dialInspector(t.Context(), u.String(), false)
	fatal.If(t, err)
	of := &sources{ctx: t.Context(), i: i, r: newRoutes()}
	of.fetch([]*profile.Function{{Script: "1"}, {Script: "2"}, {Script: "3"}})
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if all := said(); !strings.Contains(all, "Debugger.scriptParsed") || strings.Contains(all, "Debugger.paused") {
		t.Errorf("it was not asked, or paused: %.300s", all)
	}
}
