package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/kinesis"
	"whittle/systems/ingest/stream/kinesis/kinesistest"
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

// readKinesis reads a stream of the API until all that was acknowledged is seen,
// or there is no more.
func (d *ingestDemo) readKinesis(ctx context.Context, name string, kept map[string]bool) (_ audit, err error) {
	s, err := kinesis.Open(ctx, kinesis.Options{
		Stream: name, Region: kinesistest.Region, Endpoint: d.api.URL, AccessKeyID: "local", SecretAccessKey: "local", Raw: true,
	})
	if err != nil {
		return audit{}, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	return d.read(ctx, s, kept)
}

func (d *ingestDemo) readLog(ctx context.Context, folder string, kept map[string]bool) (_ audit, err error) {
	s, err := embedded.Open(folder, embedded.Options{})
	if err != nil {
		return audit{}, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	return d.read(ctx, s, kept)
}

// read reads each partition until what was acknowledged there has been seen, or
// the time is up: what then is not seen is missing.
func (d *ingestDemo) read(ctx context.Context, s stream.Stream, kept map[string]bool) (audit, error) {
	body, err := d.body()
	if err != nil {
		return audit{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return audit{}, err
	}
	a := audit{Acknowledged: len(kept)}
	left := map[string]int{}
	for place := range kept {
		partition, _, _ := strings.Cut(place, "/")
		left[partition]++
	}
	seen := map[string]bool{}
	for _, p := range partitions {
		if err := a.partition(ctx, s, p.Name, left[p.Name], kept, seen, body); err != nil {
			return a, err
		}
		d.screen.Progress("read %d of %d", a.Read, a.Acknowledged)
	}
	a.Missing = len(kept)
	return a, nil
}

// partition reads one, and takes what it finds out of kept.
func (a *audit) partition(ctx context.Context, s stream.Stream, name string, left int, kept, seen map[string]bool, body *regexp.Regexp) (err error) {
	if left == 0 {
		return nil
	}
	r, err := s.Read(ctx, stream.Position{Partition: name})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	into := make([]stream.Entry, 1000)
	for left > 0 {
		n, err := r.Next(ctx, into)
		if _, corrupt := errors.AsType[*stream.CorruptError](err); corrupt {
			a.Changed++
			continue
		}
		if ctx.Err() != nil {
			return nil // what is left is missing
		}
		if err != nil {
			return err
		}
		for _, e := range into[:n] {
			a.Read++
			id := string(e.Value)
			if found := body.FindSubmatch(e.Value); found != nil {
				id = string(found[body.SubexpIndex("id")])
			} else {
				a.Changed++
			}
			if seen[id] {
				a.Twice++
			}
			seen[id] = true
			place := e.Position.Partition + "/" + e.Position.Offset
			if kept[place] {
				delete(kept, place)
				left--
			}
		}
	}
	return nil
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
