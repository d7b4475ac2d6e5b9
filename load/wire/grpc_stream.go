package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/notify"
)

// Streams are the bounds of gRPC calls whose messages stream. The zero value sends as
// quickly as it goes, and reads to the end.
type Streams struct {
	// Pause is between two messages of the client's.
	Pause time.Duration
	// Turns is for how many messages of the server's the client waits after each of its
	// own, where both stream. 0: for none.
	Turns int
	// Messages is after how many messages of the server's a call is over. 0: all.
	Messages int
	// Time is after how long a call is over, counted from the response's beginning. 0:
	// none.
	Time time.Duration
}

// frameHeader is what gRPC puts before a message: a flag and four bytes of length.
const frameHeader = 5

// encodeStream makes the client's messages of a JSON list, or the one of anything else.
func (c *grpcCalls) encodeStream(out *http2Request, t grpcMethod, in whittle.Request) error {
	messages := []json.RawMessage{out.body}
	if text := bytes.TrimSpace(out.body); len(text) == 0 {
		messages = nil
	} else if text[0] == '[' {
		if err := json.Unmarshal(text, &messages); err != nil {
			return whittle.Errorf(whittle.Invalid, "read the list of messages: %w", err)
		}
	}
	out.pause, out.body = c.streams.Pause, nil
	if t.server {
		out.turns = c.streams.Turns
	}
	for i, m := range messages {
		in.Body = m
		sent, err := t.Request(&in)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		out.body = append(out.body, sent.Body...)
		out.frames = append(out.frames, len(out.body))
	}
	return nil
}

// pacedBody gives the messages of a body one by one, each after the call's pause and once
// it is the client's turn.
type pacedBody struct {
	done <-chan struct{} // closed by end, or when the call is over
	end  context.CancelFunc
	call *http2Request
	at   int // read so far
	next int // the message that at is in

	came    atomic.Int64  // messages of the server's
	replied notify.Signal // when one has come
}

func newPacedBody(ctx context.Context, call *http2Request) *pacedBody {
	ctx, end := context.WithCancel(ctx)
	return &pacedBody{done: ctx.Done(), end: end, call: call, replied: notify.New()}
}

// reply counts a message of the server's.
func (b *pacedBody) reply() {
	b.came.Add(1)
	b.replied.Notify()
}

// wait lets the next message's time come. False: the call is over before.
func (b *pacedBody) wait() bool {
	for b.came.Load() < int64(b.next)*int64(b.call.turns) {
		select {
		case <-b.replied:
		case <-b.done:
			return false
		}
	}
	if b.call.pause <= 0 {
		return true
	}
	t := time.NewTimer(b.call.pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-b.done:
		return false
	}
}

// Read gives at most the rest of one message.
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.next == len(b.call.frames) {
		return 0, io.EOF
	}
	if b.next > 0 && b.at == b.call.frames[b.next-1] && !b.wait() {
		return 0, context.Canceled
	}
	n := copy(p, b.call.body[b.at:b.call.frames[b.next]])
	if b.at += n; b.at == b.call.frames[b.next] {
		b.next++
	}
	return n, nil
}

// Close ends a Read that waits: the server has ended the call, and nobody reads on.
func (b *pacedBody) Close() error {
	b.end()
	return nil
}

// streamed is what came of a stream: its messages as a JSON list.
type streamed struct {
	status int
	header http.Header
	body   []byte // the list's beginning, as much as is kept
	size   int64  // of the whole list
}

// emptyMessage is a frame without any field.
var emptyMessage = make([]byte, frameHeader)

// readStream reads the server's messages until it has no more, or the call's bounds are
// reached. It says of each that it has come. An error that the server ends with stands for
// the whole response.
func (c *grpcCalls) readStream(t grpcMethod, resp *http.Response, keep int, came, stop func()) (*streamed, error) {
	var over atomic.Bool
	if d := c.streams.Time; d > 0 {
		timer := time.AfterFunc(d, func() {
			over.Store(true)
			stop()
		})
		defer timer.Stop()
	}
	succeeded := whittle.Header{"Grpc-Status": {"0"}}
	out := &streamed{status: http.StatusOK}
	in := bufio.NewReader(resp.Body)
	var frame []byte
	for n := 1; resp.StatusCode == http.StatusOK; n++ {
		var err error
		if frame, err = readFrame(in, frame); err != nil {
			if over.Load() {
				return out.closed(keep), nil
			}
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		a := t.Response(&whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Trailer: succeeded, Body: frame})
		out.header = http.Header(a.Header)
		if a.Failure != whittle.NoFailure {
			return nil, malformed("message %d: %s", n, a.Detail)
		}
		out.add(keep, a.Body)
		if n == c.streams.Messages {
			stop()
			return out.closed(keep), nil
		}
		came()
	}
	end := t.Response(&whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Trailer: whittle.Header(resp.Trailer), Body: emptyMessage})
	switch {
	case end.Failure != whittle.NoFailure:
		return nil, malformed("%s", end.Detail)
	case end.Status != http.StatusOK:
		return &streamed{status: end.Status, header: http.Header(end.Header), body: end.Body[:min(len(end.Body), keep)], size: int64(len(end.Body))}, nil
	}
	out.header = http.Header(end.Header)
	return out.closed(keep), nil
}

// add puts a message at the end of the list.
func (s *streamed) add(keep int, message []byte) {
	between := "["
	if s.size > 0 {
		between = ","
	}
	s.write(keep, []byte(between))
	s.write(keep, message)
}

// closed ends the list.
func (s *streamed) closed(keep int) *streamed {
	end := "]"
	if s.size == 0 {
		end = "[]"
	}
	s.write(keep, []byte(end))
	return s
}

func (s *streamed) write(keep int, b []byte) {
	s.size += int64(len(b))
	s.body = append(s.body, b[:min(len(b), keep-len(s.body))]...)
}

// readFrame reads a message with its frame's header into a buffer. io.EOF: there is none
// more.
func readFrame(r io.Reader, into []byte) ([]byte, error) {
	into = append(into[:0], emptyMessage...)
	if _, err := io.ReadFull(r, into); err != nil {
		return into, err
	}
	n := binary.BigEndian.Uint32(into[1:])
	if n > maxMessage {
		return into, malformed("a message of more than %d bytes", maxMessage)
	}
	// As it comes: what a header says of a message is not yet there.
	b := bytes.NewBuffer(into)
	if _, err := io.CopyN(b, r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return into, err
	}
	return b.Bytes(), nil
}
