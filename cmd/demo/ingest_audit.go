//go:build !demo_count

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"whittle"
	"whittle/load"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// audit compares a stream with the responses that its clients got.
type audit struct {
	Stream       string `json:"stream"`
	Acknowledged int    `json:"acknowledged"`
	Read         int    `json:"read"`
	Missing      int    `json:"missing"` // acknowledged, and not at the place that the response named
	Twice        int    `json:"twice"`
	Changed      int    `json:"changed"` // other bytes than the plan sends
}

// auditTimeout bounds the reading of a stream.
const auditTimeout = 3 * time.Minute

// readKinesis reads a stream of the API, as any consumer does.
func (d *ingestDemo) readKinesis(ctx context.Context, name string, kept map[string]bool) (audit, error) {
	return d.read(ctx, kept, func(ctx context.Context, visit func(place string, event []byte)) error {
		client, end := d.api.Client()
		defer end()
		shards, err := client.ListShards(ctx, &kinesis.ListShardsInput{StreamName: &name})
		if err != nil {
			return err
		}
		for _, shard := range shards.Shards {
			at, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
				StreamName: &name, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
			})
			if err != nil {
				return err
			}
			for next := at.ShardIterator; next != nil; {
				out, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: next})
				if err != nil {
					return err
				}
				for _, r := range out.Records {
					visit(aws.ToString(shard.ShardId)+"/"+aws.ToString(r.SequenceNumber), r.Data)
				}
				if next = out.NextShardIterator; len(out.Records) == 0 && aws.ToInt64(out.MillisBehindLatest) == 0 {
					break
				}
			}
		}
		return nil
	})
}

// readLog reads an embedded log at rest.
func (d *ingestDemo) readLog(ctx context.Context, folder string, kept map[string]bool) (_ audit, err error) {
	l, err := embedded.Open(folder, embedded.Options{})
	if err != nil {
		return audit{}, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	return d.read(ctx, kept, func(ctx context.Context, visit func(place string, event []byte)) error {
		return l.Walk(ctx, 0, func(e *stream.Entry) error {
			visit(e.Position.Partition+"/"+e.Position.Offset, e.Value)
			return nil
		}, func(*stream.CorruptError) error {
			visit("", nil)
			return nil
		})
	})
}

// read takes what was acknowledged and is there out of kept: what is left is missing.
func (d *ingestDemo) read(ctx context.Context, kept map[string]bool, each func(ctx context.Context, visit func(place string, event []byte)) error) (audit, error) {
	body, err := d.body()
	if err != nil {
		return audit{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	a := audit{Acknowledged: len(kept)}
	seen := map[string]bool{}
	err = each(ctx, func(place string, event []byte) {
		a.Read++
		id := string(event)
		if found := body.FindSubmatch(event); found != nil {
			id = string(found[body.SubexpIndex("id")])
		} else {
			a.Changed++
		}
		if seen[id] {
			a.Twice++
		}
		seen[id] = true
		delete(kept, place)
		if a.Read%1000 == 0 {
			d.screen.Progress("read %d of %d", a.Read, a.Acknowledged)
		}
	})
	a.Missing = len(kept)
	return a, err
}

// variable is a part of the plan's body that differs from event to event.
var variable = regexp.MustCompile(`\$\{__(\w+)\(?\)?\}`)

// body gives a pattern for every event that the plan sends, whole, with its id as the
// group "id".
func (d *ingestDemo) body() (*regexp.Regexp, error) {
	plan, err := os.ReadFile(d.root.path("systems/ingest/plans/import.jmx"))
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "read plan: %w", err)
	}
	const id = "${__UUID()}"
	before, after, ok := strings.Cut(string(plan), id)
	start, end := strings.LastIndex(before, ">"), strings.Index(after, "<")
	if !ok || start < 0 || end < 0 {
		return nil, whittle.Errorf(whittle.Internal, "read plan: no body with %s", id)
	}
	return patternOf(before[start+1:] + id + after[:end]), nil
}

// patternOf gives the pattern of a body of a plan. Where a variable stands may be
// anything that ends neither a JSON string nor begins an escape in it.
func patternOf(body string) *regexp.Regexp {
	var pattern strings.Builder
	at := 0
	for _, v := range variable.FindAllStringSubmatchIndex(body, -1) {
		pattern.WriteString(regexp.QuoteMeta(body[at:v[0]]))
		if body[v[2]:v[3]] == "UUID" {
			pattern.WriteString(`(?P<id>[^"\\]+)`)
		} else {
			pattern.WriteString(`[^"\\]+`)
		}
		at = v[1]
	}
	pattern.WriteString(regexp.QuoteMeta(body[at:]))
	return regexp.MustCompile("^" + pattern.String() + "$")
}

// judge says what an audit found, and fails where the promise was broken. An event that a
// Node.js server put twice is a figure: its SDK repeats a call that ran into a timeout.
func (d *ingestDemo) judge(name string, ours bool, a audit) error {
	a.Stream = name
	d.figures.Audits = append(d.figures.Audits, a)
	d.screen.Say("%s: %d acknowledged, %d read back; %d missing, %d twice, %d not as sent", name, a.Acknowledged, a.Read, a.Missing, a.Twice, a.Changed)
	if a.Missing > 0 || a.Changed > 0 || ours && (a.Twice > 0 || a.Acknowledged == 0) {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: the stream of %s does not hold what was acknowledged", name)
	}
	if d.receipt.strange > 0 {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: %d successes named no place in the stream", d.receipt.strange)
	}
	return nil
}

// sound fails where a run says nothing: it is void, ended early, or had failures of ingest's.
// Those of a Node.js server are a figure in its row: a busy machine makes them.
func (c *comparison) sound() error {
	r := c.Levels
	if r.Early || r.Void != "" {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: the comparison of %s with %s is void: %s", c.A, c.B, r.Void)
	}
	for i := range r.Levels {
		for _, run := range r.Levels[i].Runs {
			name := map[string]string{"a": c.A, "b": c.B}[run.Side]
			failed := run.Failed > 0 || run.Completed != run.Requests
			if run.Void != "" || run.Completed == 0 || failed && isIngest(name) {
				return whittle.Errorf(whittle.FallsShort, "demo ingest: %d users, %s: %d of %d requests came to a response, %d failed %s",
					r.Levels[i].Users, name, run.Completed, run.Requests, run.Failed, run.Void)
			}
		}
	}
	if len(r.Levels) == 0 {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: nothing was compared")
	}
	return nil
}

// isIngest tells ingest from the Node.js servers, by the name in tables.
func isIngest(name string) bool { return name == goTogether || name == goLog }

// judge fails where the comparison is not sound, and where ingest, side b, costs as
// much CPU a request as the Node.js server at the most users. It takes a part of it:
// neither chance nor a busy machine, which both sides share in turn, makes up for
// that. Latency, which a busy machine may turn around, is shown and not judged.
func (c *comparison) judge() error {
	if err := c.sound(); err != nil {
		return err
	}
	r := c.Levels
	most := &r.Levels[len(r.Levels)-1]
	cost, requests := map[string]float64{}, map[string]float64{}
	for _, run := range most.Runs {
		cost[run.Side] += run.CPU * float64(run.Completed)
		requests[run.Side] += float64(run.Completed)
	}
	a, b := cost["a"]/requests["a"], cost["b"]/requests["b"]
	if !(b < a) {
		return whittle.Errorf(whittle.FallsShort, "demo ingest: with %d users %s takes %.3f ms of CPU a request, and %s %.3f", most.Users, c.B, b, c.A, a)
	}
	return nil
}

// receipts are the acknowledgements that clients got, by stream: where each
// event is. It is filled on many goroutines.
type receipts struct {
	mu sync.Mutex
	// kept is guarded by mu: partition and offset of each, by stream.
	kept map[string]map[string]bool
	// strange is guarded by mu: successes that named no place.
	strange int64
}

// noteOf gives what remembers a server's successes. The Node.js servers respond as
// Kinesis does, ingest with a position.
func (r *receipts) noteOf(stream string) func(load.Result) {
	return func(a load.Result) {
		if a.Status != 200 {
			return
		}
		var said struct {
			ShardID        string `json:"ShardId"`
			SequenceNumber string
			Position       string `json:"position"`
		}
		err := json.Unmarshal(a.Body, &said)
		place := said.Position
		if said.SequenceNumber != "" {
			place = said.ShardID + "/" + said.SequenceNumber
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		switch {
		case err != nil || place == "":
			r.strange++
		case r.kept[stream] == nil:
			r.kept[stream] = map[string]bool{place: true}
		default:
			r.kept[stream][place] = true
		}
	}
}

// take gives the acknowledgements of one stream, and forgets them.
func (r *receipts) take(stream string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.kept[stream]
	delete(r.kept, stream)
	return out
}
