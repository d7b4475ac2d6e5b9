package workers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	client "github.com/nats-io/nats.go"

	"whittle"
	"whittle/internal/natslink"
	"whittle/internal/notify"
	"whittle/load"
	"whittle/load/plan"
)

// Format names the messages between a coordinator and its workers, and their version.
const Format = "whittle.load.workers/1"

const (
	// beat is how often each side says that it is there.
	beat = 500 * time.Millisecond
	// silence is after how long without a word the other side counts as lost.
	silence = 6 * time.Second
	// standstill is after how long a part that stood still does not go on.
	standstill = silence / 3
	// patience bounds how long a worker takes to read a plan.
	patience = 2 * time.Minute
	// responseWithin bounds the other orders.
	responseWithin = 5 * time.Second
	// maxResult bounds a part's result.
	maxResult = 256 << 20
	// maxName bounds a worker's name, maxWorkers how many there are.
	maxName    = 100
	maxWorkers = 1000
	// queued bounds the messages that wait; NATS drops what comes then, which voids a run.
	queued = 8192
)

// isName reports whether a text may name a worker. It is shown on terminals.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// DefaultSubject is what the subjects of all messages begin with.
const DefaultSubject = "whittle.load"

// Link says where coordinator and workers meet.
type Link struct {
	NATS natslink.Settings
	// Subject is what the subjects of all messages begin with: who has the same meets.
	// Empty: DefaultSubject.
	Subject string
	// Version is whittle's. Others are refused.
	Version string
}

// check refuses what no subject can be.
func (l *Link) check() error {
	l.Subject = cmp.Or(l.Subject, DefaultSubject)
	if strings.ContainsAny(l.Subject, " \t\r\n*>") || strings.HasPrefix(l.Subject, ".") || strings.HasSuffix(l.Subject, ".") || strings.Contains(l.Subject, "..") || len(l.Subject) > maxName {
		return whittle.Errorf(whittle.Invalid, "--nats-subject %q is not a subject: words with dots between them, without * and >", l.Subject)
	}
	return nil
}

// connect connects, once NATS is there: it is waited for until ctx ends, or a while. Lost
// has a token once the connection was lost.
func (l *Link) connect(ctx context.Context, name string) (conn *client.Conn, lost chan struct{}, err error) {
	lost = make(chan struct{}, 1)
	conn, err = natslink.Connect(l.NATS, name, client.DisconnectErrHandler(func(*client.Conn, error) {
		select {
		case lost <- struct{}{}:
		default:
		}
	}))
	if err != nil {
		return nil, nil, whittle.Errorf(whittle.Invalid, "connect to NATS: %w", err).WithHint("write it as nats://host:4222, several separated by commas")
	}
	for deadline := time.Now().Add(connectWithin); !conn.IsConnected(); {
		if ctx.Err() != nil || time.Now().After(deadline) {
			err := cmp.Or(conn.LastError(), client.ErrNoServers)
			conn.Close()
			return nil, nil, whittle.Errorf(whittle.Unavailable, "connect to NATS at %s: %w", l.NATS.Servers, err).WithHint("is it running there, and are its credentials right?")
		}
		notify.Sleep(ctx, connectWithin/500)
	}
	return conn, lost, nil
}

// connectWithin bounds the first connection.
const connectWithin = 10 * time.Second

// The kinds of messages. A coordinator calls for workers and says that it is there to
// all of them, and gives each orders, to which it responds. A worker joins, and says
// how its part goes on.
const (
	toCall    = "call"
	toPulse   = "pulse"
	toRefuse  = "refuse"
	toPrepare = "prepare" // read the plan
	toClock   = "clock"   // say what time it is
	toStart   = "start"   // run, at a time
	toGive    = "give"    // give a piece of the result
	toJoin    = "join"
	toSay     = "say"
)

// message is any of them. Most of its fields are of few kinds.
type message struct {
	Format  string `json:"format"`
	Version string `json:"version"` // of whittle
	Run     string `json:"run"`
	Kind    string `json:"kind"`

	// A pulse says that the run is to end, a worker that its part has ended early.
	End bool `json:"end,omitempty"`
	// Why something has failed, or is refused. Empty: it has not.
	Failed string `json:"failed,omitempty"`

	ID   string `json:"id,omitempty"` // of a worker
	Name string `json:"name,omitempty"`
	Busy bool   `json:"busy,omitempty"` // with another run

	Part  plan.Part `json:"part,omitzero"`
	Blob  blob      `json:"blob,omitzero"`   // the plan's files, or a result
	From  int       `json:"from,omitempty"`  // where a piece of it begins
	Names []string  `json:"names,omitempty"` // of requests
	// Clock is a moment of the worker's clock.
	Clock time.Duration `json:"clock,omitempty"`
	Base  []value       `json:"base,omitempty"`

	Number int64        `json:"number,omitempty"` // of what a worker says, from 1, without a gap
	Sample *load.Sample `json:"sample,omitempty"`
	Lines  []line       `json:"lines,omitempty"`
	Over   bool         `json:"over,omitempty"` // the part is
	Lacks  []string     `json:"lacks,omitempty"`
}

// value is an expr.Value.
type value struct {
	Text string `json:"text"`
	JSON string `json:"json"`
}

// line is one of the plan's log steps, or of its scripts.
type line struct {
	User int64  `json:"user"`
	Text string `json:"text"`
}

// errVersion is of a message that is not of this whittle.
var errVersion = errors.New("another version")

// decode reads a message. One of another version is given with an error that says so.
func (l *Link) decode(b []byte) (*message, error) {
	var head struct{ Format, Version, Run, Kind, ID, Name string }
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read message: %w", err)
	}
	if head.Format != Format || head.Version != l.Version {
		m := &message{Run: head.Run, Kind: head.Kind, ID: head.ID, Name: head.Name}
		return m, fmt.Errorf("%w: it is whittle %.100q, which speaks %.100q, and this is %q, which speaks %q", errVersion, head.Version, head.Format, l.Version, Format)
	}
	m := new(message)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read message: %w", err)
	}
	return m, nil
}

func (l *Link) encode(m message) []byte {
	m.Format, m.Version = Format, l.Version
	b, err := json.Marshal(&m)
	if err != nil {
		panic(err) // its types all encode
	}
	return b
}

// blob is something too large for one message, which the other side asks for piece by
// piece.
type blob struct {
	Size   int    `json:"size"`
	Digest string `json:"digest"`
}

func blobOf(b []byte) blob {
	sum := sha256.Sum256(b)
	return blob{len(b), hex.EncodeToString(sum[:])}
}

// piece is one of a blob's.
func piece(conn *client.Conn, b []byte, from int) []byte {
	if from < 0 || from >= len(b) {
		return nil
	}
	return b[from:min(from+min(int(conn.MaxPayload()), 1<<20)/2, len(b))]
}

// fetch puts a blob together out of what ask gives.
func fetch(o blob, limit int, ask func(from int) ([]byte, error)) ([]byte, error) {
	if o.Size < 0 || o.Size > limit {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%d bytes are more than %d", o.Size, limit)
	}
	var out []byte
	for len(out) < o.Size {
		b, err := ask(len(out))
		switch {
		case err != nil:
			return nil, err
		case len(b) == 0 || len(b) > o.Size-len(out):
			return nil, whittle.Errorf(whittle.Invalid, "a piece has %d bytes where %d are left", len(b), o.Size-len(out))
		}
		out = append(out, b...)
	}
	if blobOf(out) != o {
		return nil, whittle.Errorf(whittle.Invalid, "its bytes are not those that were announced")
	}
	return out, nil
}
