package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
	"whittle/record/redact"
)

const wantSample = "a share such as 10%, or off"

// record reads what is kept of the users' exchanges; without the section
// nothing is.
func (r *reader) record(o *object, f *File, files folder) {
	c, ok := o.child("record", "{sample: 10%}")
	if !ok {
		return
	}
	rec := &Record{
		Dir: files.path("recorded"), Sample: whittle.Percent(10),
		MaxBody: mib, MaxBytes: gib, MaxAge: 7 * day,
	}
	c.folder("dir", &rec.Dir, files)
	if absolute(rec.Dir) == absolute(files.dir) {
		r.failField(c.sub("dir"), "is the folder of the config: write one that holds nothing else, such as recorded")
	}
	rec.KeyFile = filepath.Clean(rec.Dir) + ".key"
	c.file("key_file", &rec.KeyFile, files)
	read(c, "sample", wantSample, &rec.Sample, orOff(ParseShare))
	c.size("max_body", &rec.MaxBody, 1, 16*mib)
	c.size("max_bytes", &rec.MaxBytes, mib, 1<<50)
	c.duration("max_age", &rec.MaxAge, time.Minute, 3650*day)
	c.done()
	f.Record = rec
}

// routeRecord reads a route's own sample, which is the config's unless it says
// so.
func (r *reader) routeRecord(o *object, f *File, route *whittle.Route) {
	if f.Record != nil {
		route.Record = f.Record.Sample
	}
	if read(o, "record", wantSample, &route.Record, orOff(ParseShare)) && f.Record == nil && route.Record > 0 {
		r.failField(o.sub("record"), "has no effect without record: at the top level, which says where to; write record: {sample: off} there to record this route only")
	}
}

// redact reads what is secret in addition to the defaults. Paths and patterns are checked
// where they are compiled.
func (r *reader) redact(o *object, d *redact.Rules) {
	c, ok := o.child("redact", "{fields: [phone], headers: [X-Tenant]}")
	if !ok {
		return
	}
	name := func(s string) error {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("%s is no name; write one such as phone_number", quote(s))
		}
		return nil
	}
	whole := func(s string) error {
		if strings.ContainsAny(s, "*?^$|\\()") {
			return fmt.Errorf("%s: a name is compared as a whole, and its signs are left out: write each name, or a pattern under patterns", quote(s))
		}
		return name(s)
	}
	c.texts("headers", "names such as X-Tenant", &d.Headers, whole)
	c.texts("fields", "names such as phone_number", &d.Fields, whole)
	c.texts("paths", "JSON paths such as $.user.phone", &d.Paths, jsonPath)
	c.texts("patterns", "regular expressions", &d.Patterns, name)
	c.texts("keep", "names such as nextPageToken, or shape-email", &d.Keep, name)
	c.done()
}

func (f *File) describeRecord(b *strings.Builder) {
	if rec := f.Record; rec == nil {
		line(b, "record", "nothing")
	} else {
		line(b, "record", "%s into %s, at most %s and %s old, bodies up to %s", recorded(rec.Sample), rec.Dir, size(rec.MaxBytes), units.Span(rec.MaxAge), size(rec.MaxBody))
	}
	d, more := &f.Redact, ""
	for _, list := range []struct {
		what  string
		names []string
	}{{"headers", d.Headers}, {"fields", d.Fields}, {"paths", d.Paths}, {"patterns", d.Patterns}, {"but not", d.Keep}} {
		if len(list.names) > 0 {
			more += "; " + list.what + " " + strings.Join(list.names, ", ")
		}
	}
	line(b, "redact", "credentials, secrets by name, card numbers, e-mail addresses%s", more)
}

func recorded(s whittle.Share) string {
	if s == 0 {
		return "never"
	}
	return percent(s.Percent()/100) + " of the connections at a time"
}
