package front

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/internal/jsonscan"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

// call is one request on its way.
type call struct {
	f           *Front
	kind        event.Kind
	id          string // the request's
	received    time.Time
	appended    time.Time // when the stream responded last; zero: it was not asked, or something was waited for since
	key         string    // the write key that came outside the body
	source      *source
	address     string
	json        bool  // the body is to be read as JSON
	maybeJSON   bool  // it may be JSON, though it does not say so
	gzip        bool  // the body is
	need        int64 // bytes of the body, as far as its header says
	held        int64 // of the front's memory
	appendBytes int64 // of the front's sum of bytes on their way
	direct      *direct

	// scratch and input are what the request works with, once it is let in. Those
	// that wait to be let in have none.
	*scratch
	*input                // nil also once the stream has copied what came of it
	finished bool         // the handler came to its end
	items    []event.Item // the parser's, or raw; none once the stream has copied them
	batch    bool         // the items are the events of a batch
	body     []byte       // the decoded body, once it is that
	shared   []byte       // what a batch gives to its events
	out      []byte       // the response's body
	copied   func()       // releaseCopied of this call, made once
}

// calls keeps the memory of calls: half of what a single event would leave for the
// collector.
var calls = sync.Pool{New: func() any {
	c := new(call)
	c.copied = c.releaseCopied
	return c
}}

func newCall(like call) *call {
	c := calls.Get().(*call)
	like.copied = c.copied
	*c = like
	return c
}

// input is memory for a body and what is made of it. It is kept for the next request,
// with all that it grew to.
type input struct {
	wire, decoded []byte
	parser        event.Parser
	raw           [1]event.Item
	headers       []stream.Header // raw's
}

// scratch is memory for all else of a request, kept in the same way.
type scratch struct {
	response []byte

	outcomes []outcome // one an item

	// What keep needs; see there.
	records []stream.Record
	todo    []int
	ids     []dedup.ID
	claims  []dedup.Claim
	kept    []stream.Position
	waiting []pending
}

// pools keep inputs and scratches. They are two, so that what batches have grown is
// not spread over a thousand connections that send single events.
type pools struct{ inputs, scratches sync.Pool }

func newPools() *pools {
	return &pools{sync.Pool{New: func() any { return new(input) }}, sync.Pool{New: func() any { return new(scratch) }}}
}

var small, large = newPools(), newPools()

const (
	smallBody = 8 << 10
	// maxKeptBuffer is what a buffer may have grown to and be kept with the small.
	maxKeptBuffer = 8 * smallBody
)

func (c *call) pools() *pools {
	if c.isSmall() {
		return small
	}
	return large
}

func (c *call) isSmall() bool { return c.need <= smallBody && !c.gzip }

// outcomeBytes is what a scratch has for each event, at most.
const outcomeBytes = 512

// releaseCopied is called when the stream has copied the records. What they were made
// of is for others then, who need find no memory of their own while this call waits for
// the disk: a few bodies are in memory in place of one a connection, and in the
// processor's caches.
func (c *call) releaseCopied() {
	c.hold(int64(requestOverhead + outcomeBytes*len(c.outcomes)))
	c.releaseInput()
}

// releaseInput returns the memory of the body and of the records.
func (c *call) releaseInput() {
	in := c.input
	if in == nil {
		return
	}
	c.input, c.items, c.body, c.shared = nil, nil, nil, nil
	clear(c.records)
	in.raw[0] = event.Item{}
	clear(in.headers)
	in.wire, in.decoded = in.wire[:0], in.decoded[:0]
	if !c.isSmall() || cap(in.wire) <= maxKeptBuffer {
		c.pools().inputs.Put(in)
	}
}

// release gives everything back. The records' memory is ours again because Append
// has returned; where it panicked, nobody knows who has it.
func (c *call) release() {
	c.hold(0)
	c.setAppendBytes(0)
	s := c.scratch
	if s == nil || !c.finished {
		return
	}
	c.releaseInput()
	clear(s.records)
	clear(s.outcomes)
	clear(s.claims)
	clear(s.kept)
	clear(s.waiting)
	s.response = c.out[:0]
	s.records, s.outcomes, s.todo, s.ids, s.waiting = s.records[:0], s.outcomes[:0], s.todo[:0], s.ids[:0], s.waiting[:0]
	s.claims, s.kept = s.claims[:0], s.kept[:0]
	if !c.isSmall() || cap(s.response) <= maxKeptBuffer {
		c.pools().scratches.Put(s)
	}
	*c = call{copied: c.copied}
	calls.Put(c)
}

// refusal is a response about a request as a whole, of which nothing was kept.
type refusal struct {
	status int
	reason string
	letter string // the dead letter that has the body; empty: there is none
	retry  int    // after how many seconds to come back; 0: it is worked out
}

// handle does all of a request but the writing of its response.
func (c *call) handle(w http.ResponseWriter, r *http.Request) response {
	if no := c.admit(r); no != nil {
		c.noteUnread(r, no)
		return c.refusalResponse(*no)
	}
	if no := c.read(w, r); no != nil {
		c.noteUnread(r, no)
		return c.refusalResponse(*no)
	}
	if c.direct != nil {
		c.direct.release()
	}
	if no := c.decodeAndParse(r); no != nil {
		c.keepBody(r, no)
		return c.refusalResponse(*no)
	}
	c.store(c.f.deadlines.context(c.f.o.Now())) // the body may have taken its time
	c.keepRejected(r)
	return c.buildResponse(r)
}

// decodeAndParse makes records of what was read. Of large bodies no more are in
// work at once than there are cores: a goroutine that comes back from a sync
// waits behind all that are ready to run, and behind dozens of batches the disk
// would lie idle for longer than it took to write.
func (c *call) decodeAndParse(r *http.Request) *refusal {
	if !c.isSmall() {
		c.f.cores <- struct{}{}
		defer func() { <-c.f.cores }()
	}
	body, no := c.decode()
	if no != nil {
		return no
	}
	c.body = body
	c.f.metrics.bytes.Add(float64(len(body)))
	return c.parse(r, body)
}

// parse makes records of the body.
func (c *call) parse(r *http.Request, body []byte) *refusal {
	if !c.json {
		id, key := c.selfOf(body)
		return c.rawRecord(r, body, id, key)
	}
	b, err := c.parser.Parse(c.f.limits.Event, event.Call{
		Kind: c.kind, Received: c.received, Address: c.address, WriteKey: c.key, NewID: newID,
	}, body)
	switch {
	case errors.Is(err, event.ErrNoBatch) && c.kind == event.Import:
		return c.rawRecord(r, body, b.ID, b.Key)
	case err != nil:
		return &refusal{status: statusOf(whittle.CodeOf(err)), reason: err.Error()}
	case !c.identify(b.WriteKey):
		return unknownKey(b.WriteKey)
	case len(b.Items) == 0:
		return &refusal{status: http.StatusBadRequest, reason: "the batch is empty"}
	}
	c.items, c.shared = b.Items, b.Shared
	c.batch = c.kind == event.Bulk || c.kind == event.Import
	return c.reserveRecords(len(body))
}

// displayString begins a text that stands for another one.
const displayString = `%"`

// reserveRecords counts what the events became on top of the body that they
// were: a batch's context is merged into each of them.
func (c *call) reserveRecords(counted int) *refusal {
	made := 0
	for i := range c.items {
		made += len(c.items[i].Record.Value)
	}
	if !c.acquire(int64(made - 2*counted)) {
		return c.overload()
	}
	return nil
}

// selfOf is what a body says of itself that does not call itself JSON, and may
// be it all the same: what curl -d and beacons send.
func (c *call) selfOf(body []byte) (id, key string) {
	if c.maybeJSON && body[jsonscan.Space(body, 0)%len(body)] == '{' {
		b, err := c.parser.Parse(c.f.limits.Event, event.Call{Kind: event.Import, Received: c.received, NewID: newID}, body)
		if errors.Is(err, event.ErrNoBatch) {
			return b.ID, b.Key
		}
	}
	return "", ""
}

// rawRecord makes one record of the whole body, with the id and the key that it
// says it has.
func (c *call) rawRecord(r *http.Request, body []byte, id, key string) *refusal {
	if c.f.o.Keys != nil && c.key == "" {
		return unknownKey("")
	}
	if id == "" {
		id = newID()
	}
	if given := r.Header["Idempotency-Key"]; len(given) > 0 {
		if id = given[0]; len(given) > 1 || !plain(id, stream.MaxID) || strings.HasPrefix(id, displayString) {
			return &refusal{status: http.StatusBadRequest, reason: "the Idempotency-Key is not 1 to 256 visible ASCII characters, or is a Display String (RFC 9651)"}
		}
	}
	c.raw[0].Record = stream.Record{ID: id, Key: key, Time: c.received, Header: c.metadata(r), Value: body}
	c.raw[0].Record.Seal()
	c.items = c.raw[:]
	return nil
}
