package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"whittle/bench/soak/plan"
)

// WebSocket is a client whose sessions last for some messages each.
type WebSocket struct {
	Addr, Name string
	TLS        *tls.Config

	rec *recorder
}

// Tape is that of the last connection.
func (u *WebSocket) Tape() Tape { return u.rec.Tape() }

// Close does nothing: a session closes its own connection.
func (u *WebSocket) Close() {}

// Ask is User's.
func (u *WebSocket) Ask(ctx context.Context, plans []*plan.Plan) []Outcome {
	return oneByOne(ctx, plans, u.session)
}

func (u *WebSocket) session(ctx context.Context, p *plan.Plan) Outcome {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if u.TLS != nil {
			c = tls.Client(c, u.TLS)
		}
		u.rec = record(c)
		return u.rec, nil
	}
	t := &http.Transport{DialContext: dial, DialTLSContext: dial}
	defer t.CloseIdleConnections()
	header := http.Header{}
	for _, f := range headers(p, u.Name) {
		header.Set(f[0], f[1])
	}
	scheme := "ws://"
	if u.TLS != nil {
		scheme = "wss://"
	}
	ws, resp, err := websocket.Dial(ctx, scheme+u.Addr+p.Path(), &websocket.DialOptions{HTTPClient: &http.Client{Transport: t}, HTTPHeader: header}) //nolint:bodyclose // Dial has closed it
	switch {
	case err != nil && resp != nil && resp.StatusCode >= 500:
		return Outcome{Class: Refused, Text: err.Error()}
	case err != nil:
		return unsent(err)
	}
	defer func() { _ = ws.CloseNow() }() // it may be closed
	if of := resp.Header.Get(plan.Of); of != strconv.FormatUint(p.Number, 10) {
		return Outcome{Class: Mixed, Text: "the upgrade of request " + of}
	}
	for i := range p.Length {
		if out := u.message(ctx, ws, p, i); out.Class != Whole {
			return out
		}
		if i%8 == 7 {
			time.Sleep(time.Duration(p.Number%20) * time.Millisecond) //nolint:forbidigo // a user who thinks
		}
	}
	if err := ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		return broken(fmt.Errorf("close: %w", err))
	}
	return Outcome{}
}

// message sends one and reads its reply.
func (u *WebSocket) message(ctx context.Context, ws *websocket.Conn, p *plan.Plan, i int) Outcome {
	body := p.Request()
	body.Length = 1 + (i*i*97)%5000
	text := body.Bytes()
	if err := ws.Write(ctx, websocket.MessageBinary, text); err != nil {
		return broken(err)
	}
	_, got, err := ws.Read(ctx)
	if err != nil {
		return broken(err)
	}
	if want := append([]byte(p.Event(i)), text...); !bytes.Equal(got, want) {
		return Outcome{Class: Wrong, Text: fmt.Sprintf("message %d is %.100q", i, got)}
	}
	return Outcome{}
}
