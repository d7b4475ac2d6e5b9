package load

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle/load/wire"
)

// A server says GOAWAY to the second request of a shared connection while the first is
// in flight: the first gets its response there, the second on a new connection.
func TestARequestThatAGoodbyeLeftOutIsSentAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	again, over := make(chan struct{}), make(chan struct{}) // the second connection was asked; the run is over
	wg.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				goAway(c, n == 1, again, over)
			})
		}
	})
	defer wg.Wait()
	defer l.Close()
	p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 2}], http: {timeout: 5}}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: "http://" + l.Addr().String(), Protocol: wire.HTTP2, Pool: 1})
	close(over)
	if r.Completed != 2 || r.Failed != 0 || r.Latency.Connect.Count != 2 {
		t.Errorf("%d completed, %v, over %d connections; want 2, none, 2", r.Completed, r.ErrorSamples, r.Latency.Connect.Count)
	}
}

// leave serves one connection. The first holds its first request back until the other
// connection was asked, and takes no second one.
func goAway(c net.Conn, first bool, again, over chan struct{}) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	if f.WriteSettings() != nil {
		return
	}
	var ok bytes.Buffer
	if hpack.NewEncoder(&ok).WriteField(hpack.HeaderField{Name: ":status", Value: "200"}) != nil {
		return
	}
	respond := func() {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: ok.Bytes(), EndHeaders: true, EndStream: true})
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		h, asked := frame.(*http2.HeadersFrame)
		switch {
		case !asked:
		case !first:
			respond()
			close(again)
		case h.StreamID > 1:
			_ = f.WriteGoAway(1, http2.ErrCodeNo, nil)
			select {
			case <-again:
				respond()
			case <-over:
			}
			return
		}
	}
}
