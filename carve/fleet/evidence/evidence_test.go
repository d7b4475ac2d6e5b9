package evidence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/redact"
)

func full() *Message {
	gave := func(body string) whittle.Response {
		return whittle.Response{
			Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Trailer: whittle.Header{"X": {"1", ""}},
			Body: []byte(body), Latency: 7 * time.Millisecond,
		}
	}
	repeat := gave("again")
	return &Message{
		Gateway: "g 1", Run: 7, Digest: "d",
		Exchange: &whittle.Exchange{
			Route: "GET /x", Conn: 3, User: 1 << 63, At: time.Unix(1_700_000_000, 5).UTC(), FirstChance: 0.25, Served: whittle.Candidate, FellBack: true,
			Request:  whittle.Request{Method: "GET", Target: "/x?a=1", Host: "h", Header: whittle.Header{"Cookie": {"a=b"}}, Body: []byte("in"), Truncated: true},
			Monolith: gave("one"), Candidate: whittle.Response{Failure: whittle.FailedReset, Detail: "broke", Truncated: true}, Repeat: &repeat,
		},
	}
}

func TestWhatIsTooLargeIsNotSent(t *testing.T) {
	var e Encoder
	noise := make([]byte, MaxMessage+1)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for name, change := range map[string]func(*Message){
		"a body that does not compress": func(m *Message) { m.Exchange.Monolith.Body = noise },
		"bodies":                        func(m *Message) { m.Exchange.Request.Body = make([]byte, maxUnpacked) },
		"a body beyond the log's":       func(m *Message) { m.Exchange.Candidate.Body = make([]byte, capture.MaxBody+1) },
		"a name":                        func(m *Message) { m.Gateway = strings.Repeat("x", maxName+1) },
		"rounds":                        func(m *Message) { m.Again, m.Rounds = true, make([]whittle.Round, maxRounds+1) },
		"a round's body": func(m *Message) {
			m.Again, m.Rounds = true, []whittle.Round{{Candidate: whittle.Response{Body: noise}}}
		},
		"no time": func(m *Message) { m.Exchange.At = time.Time{} },
	} {
		m := full()
		change(m)
		if b, err := e.Append([]byte("before"), m, nil); err == nil || string(b) != "before" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := e.Append(nil, full(), nil); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// Nothing leaves unredacted, and what the gateway goes on with stays as it is.
func TestSecretsStay(t *testing.T) {
	by, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	m := full()
	secret := `{"password":"hunter2-hunter2"}`
	m.Exchange.Request.Header = whittle.Header{"Authorization": {"Bearer hunter2-hunter2"}}
	m.Exchange.Request.Body, m.Exchange.Monolith.Body = []byte(secret), []byte(secret)
	m.Exchange.Candidate = m.Exchange.Monolith
	m.Exchange.Repeat.Body = []byte(secret)
	asked := *m
	asked.Again, asked.Rounds = true, []whittle.Round{{Monolith: m.Exchange.Monolith, Candidate: m.Exchange.Candidate}}
	var e Encoder
	var d Decoder
	b, err := e.Append(nil, &asked, by)
	fatal.If(t, err)
	got, err := d.Decode(b)
	fatal.If(t, err)
	if r := got.Rounds[0]; bytes.Contains(r.Monolith.Body, []byte("hunter2")) || !bytes.Equal(r.Monolith.Body, got.Exchange.Candidate.Body) || !bytes.Equal(r.Candidate.Body, r.Monolith.Body) {
		t.Errorf("%s and %s", r.Monolith.Body, r.Candidate.Body)
	}
	fatal.Same(t, string(asked.Rounds[0].Monolith.Body), secret, "the gateway's own round was changed")
	b, err = e.Append(nil, m, by)
	fatal.If(t, err)
	got, err = d.Decode(b)
	fatal.If(t, err)
	x := got.Exchange
	if all := fmt.Sprintf("%s %s %s %s %v", x.Request.Body, x.Monolith.Body, x.Candidate.Body, x.Repeat.Body, x.Request.Header); strings.Contains(all, "hunter2") {
		t.Error(all)
	}
	if !bytes.Equal(got.Exchange.Monolith.Body, got.Exchange.Candidate.Body) {
		t.Error("equal secrets are not equal any more")
	}
	if string(m.Exchange.Monolith.Body) != secret || string(m.Exchange.Repeat.Body) != secret {
		t.Error("the gateway's own exchange was changed")
	}
}

// FuzzDecode: whatever comes is a message that is written the same again, or an error.
func FuzzDecode(f *testing.F) {
	var e Encoder
	b, err := e.Append(nil, full(), nil)
	fatal.If(f, err)
	f.Add(b)
	asked := full()
	asked.Again, asked.Rounds = true, make([]whittle.Round, 2)
	b, err = e.Append(nil, asked, nil)
	fatal.If(f, err)
	f.Add(b)
	f.Add([]byte{version, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		m, err := d.Decode(b)
		if err != nil {
			return
		}
		again, err := e.Append(nil, m, nil)
		fatal.If(t, err)
		if twice, err := d.Decode(again); err != nil || !reflect.DeepEqual(m, twice) {
			t.Errorf("%v", err)
		}
	})
}

// TestOutcomes: what is sent comes back as it was, bounded, and within a message; nothing else is
// read.
func TestOutcomes(t *testing.T) {
	all := make([]whittle.Outcome, MaxOutcomes+1)
	for i := range all {
		all[i] = whittle.Outcome{
			Route: "GET /x", User: 1<<63 + uint64(i), At: time.Unix(1_700_000_000, int64(i)).UTC(), Side: whittle.Side(i % 2), Status: 599,
			Failure: whittle.FailedTooLarge, Latency: time.Duration(i) * time.Millisecond, FellBack: i%5 == 0, BothBad: i%10 == 0,
		}
	}
	b, err := EncodeOutcomes(all)
	fatal.If(t, err)
	if got, ok := Outcomes(b); !ok || !reflect.DeepEqual(got, all[:MaxOutcomes]) || len(b) > MaxMessage {
		t.Errorf("%t, %d outcomes in %d bytes", ok, len(got), len(b))
	}
	for name, text := range map[string]string{
		"another version": `{"version":2}`, "no JSON": "x", "too many": fmt.Sprintf(`{"version":1,"outcomes":[%s{}]}`, strings.Repeat("{},", MaxOutcomes)),
	} {
		if _, ok := Outcomes([]byte(text)); ok {
			t.Errorf("%s is taken", name)
		}
	}
}
