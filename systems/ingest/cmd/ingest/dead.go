package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/deadlog"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/relay"
)

// deadFlags say where the dead letters are.
type deadFlags struct {
	Dead string `group:"stream" env:"INGEST_DEAD" placeholder:"DIR" help:"Folder of the dead letters: rejected events and bodies that could not be read. Default: the folder dead in --log-first or --data. \"none\" keeps none."`
}

// noDead switches the dead letters off.
const noDead = "none"

func (f *deadFlags) folder(data, logFirst string) string {
	switch {
	case f.Dead != "":
		return f.Dead
	case logFirst != "":
		return filepath.Join(logFirst, "dead")
	}
	return filepath.Join(data, "dead")
}

// deadSegment is how much space the log of the dead letters takes at once, at
// least.
const deadSegment = 4 << 20

// openDead opens the log of what is rejected. It takes no more than --dead-bytes, so
// that nobody can fill the disk by it, and the sources share it fairly, so that
// nobody's letters go for somebody else's.
func (v *serveVerb) openDead(log *slog.Logger, registry prometheus.Registerer) (stream.Stream, error) {
	dir := v.folder(v.Data, v.LogFirst)
	if dir == noDead {
		return nil, nil //nolint:nilnil // there is none
	}
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ingest_dead_letters_dropped_total", Help: "Dead letters that went because --dead-bytes was used up, by who sent them.",
	}, []string{"source"})
	var dead stream.Stream
	longest, err := longestRecord(max(v.MaxEvent, v.MaxImport, v.MaxBatch), deadletter.Overhead+metadataOverhead)
	if err == nil {
		dead, err = opened(deadlog.Open(dir, deadlog.Options{
			Log: embedded.Options{
				MaxRecord: longest, MaxBatch: 1 << 20, SegmentBytes: deadSegment + 4*int64(longest),
				Reserve: v.reserve(), ScrubRate: -1, Log: log,
			},
			Most: int64(v.DeadBytes), Dropped: func(source string) { dropped.WithLabelValues(source).Inc() },
		}))
	}
	if err != nil && v.Dead == "" && v.LogFirst == "" && v.Sink != "embedded" {
		log.Warn("what is rejected is not kept: a server whose sink is elsewhere needs no disk, and there is no folder for dead letters; name one by --dead", "err", err)
		return nil, nil //nolint:nilnil // there is none
	}
	if err == nil {
		registry.MustRegister(dropped)
	}
	return dead, err
}

// letter is a dead letter of either kind: what the front rejected, or a record
// that the sink behind a log refused.
type letter struct {
	deadletter.Letter
	name string
	at   uint64
	// record is what the sink refused. Nil: the front rejected it.
	record *stream.Record
	// note says what became of it. The zero Note: it waits for somebody.
	note deadletter.Note
}

// isDone reports that nobody needs it any more.
func (l *letter) isDone() bool { return l.note.Outcome != "" }

// replaceBody puts what somebody made of a letter into its place.
func (l *letter) replaceBody(body []byte) {
	l.Body, l.ContentEncoding = body, ""
	if l.record != nil {
		l.record.Value = body
		l.record.Seal()
	}
}

// sinkLetter begins the names of the letters that the sink refused.
const sinkLetter = "sink/"

// letters are a folder of dead letters.
type letters struct {
	dir  string
	log  stream.Stream
	sink bool
	// there are those that a walk has met, and end is the first number that it did
	// not go to.
	there map[uint64]bool
	end   uint64
	// newest is when the last one of those came, by the clock of then.
	newest time.Time
	// done is held by a verb that changes something, from before its walk: what it sends
	// nobody else sends meanwhile. Nil: the letters are only read.
	done *deadletter.Done
	// removed are noted together.
	removed []uint64
}

// mostRemoved bounds how many removals are noted together.
const mostRemoved = 4096

// mayBeThere reports whether a letter was met by the walk, or is newer.
func (p *letters) mayBeThere(at uint64) bool { return p.there[at] || at >= p.end }

// remove notes that a letter was removed, with the next ones or when the walk ends.
func (p *letters) remove(at uint64, reason string) error {
	if p.removed = append(p.removed, at); len(p.removed) < mostRemoved {
		return nil
	}
	return p.noteRemoved(reason)
}

func (p *letters) noteRemoved(reason string) error {
	if len(p.removed) == 0 {
		return nil
	}
	err := p.add(deadletter.Note{Outcome: deadletter.Removed, Text: reason}, p.removed...)
	p.removed = p.removed[:0]
	return err
}

// add notes what became of letters.
func (p *letters) add(n deadletter.Note, at ...uint64) error {
	if n.Time = time.Now(); n.Time.Before(p.newest) {
		n.Time = p.newest // a clock was wrong, then or now; a note of before its letter is none of it
	}
	return p.done.Add(n, at...)
}

// openLetters opens the folders of dead letters that are there: the front's, and
// with --log-first the one of the sink.
func (v *deadPlace) openLetters() (all []letters, err error) {
	places := []letters{{dir: v.folder(v.Data, v.LogFirst)}}
	if v.LogFirst != "" {
		places = append(places, letters{dir: filepath.Join(v.LogFirst, "refused"), sink: true})
	}
	for _, p := range places {
		p.log, err = opened(embedded.Open(p.dir, embedded.Options{ReadOnly: true}))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			closeLetters(all)
			return nil, err
		}
		all = append(all, p)
		if v.changing {
			if all[len(all)-1].done, err = deadletter.OpenDone(p.dir); err != nil {
				closeLetters(all)
				return nil, err
			}
		}
	}
	if len(all) == 0 {
		return nil, whittle.Errorf(whittle.NotFound, "there are no dead letters in %s", places[0].dir).
			WithHint("name the server's folder by --data or --log-first, or that of the dead letters by --dead")
	}
	return all, nil
}

func closeLetters(all []letters) {
	for _, p := range all {
		closeQuietly(p.log)
		if p.done != nil {
			p.done.Close()
		}
	}
}

// walk hands out each letter that is there now once, and no newer one. Their memory
// is valid until visit returns. What the server moves meanwhile, from where the
// walk was not yet to behind the end, is met by a second walk from there on.
func (p *letters) walk(ctx context.Context, visit func(*letter) error, corrupt func(*stream.CorruptError) error) error {
	done := p.done
	if done == nil {
		var err error
		if done, err = deadletter.ReadDone(p.dir); err != nil {
			return err
		}
	}
	p.there = map[uint64]bool{}
	var end stream.Position // as it is now
	for again := range 2 {
		parts, err := p.log.Partitions(ctx)
		if err != nil {
			return err
		}
		part := parts[0]
		if again == 0 {
			end = part.Next
			if p.end, err = strconv.ParseUint(end.Offset, 10, 64); err != nil {
				return whittle.Errorf(whittle.Internal, "read dead letters: the log ends at %q", end.Offset)
			}
		} else {
			part.First = end
		}
		err = stream.Walk(ctx, p.log, part, func(batch []stream.Entry) error {
			for i := range batch {
				l, err := p.read(&batch[i])
				if err != nil {
					return err
				}
				if p.there[l.at] || stream.CompareOffsets(strings.TrimPrefix(l.name, sinkLetter), end.Offset) >= 0 {
					continue
				}
				p.there[l.at], l.note = true, done.For(l.at, l.Time)
				if l.Time.After(p.newest) {
					p.newest = l.Time
				}
				if err := visit(&l); err != nil {
					return err
				}
			}
			return nil
		}, corrupt)
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *letters) read(e *stream.Entry) (letter, error) {
	at, err := deadletter.Number(e)
	if err != nil {
		return letter{}, err
	}
	if !p.sink {
		l, err := deadletter.Read(&e.Record)
		return letter{Letter: l, name: strconv.FormatUint(at, 10), at: at}, err
	}
	d, err := relay.ReadDeadLetter(&e.Record)
	if err != nil {
		return letter{}, err
	}
	l := letter{name: sinkLetter + e.Position.Offset, at: at, record: &d.Record}
	l.Letter = deadletter.Letter{Time: d.Record.Time, Reason: d.Reason, ID: d.Record.ID, Whole: true, Body: d.Record.Value, Path: "the sink"}
	l.Source = event.Source(&d.Record)
	return l, nil
}

// named reports whether a letter is asked for: by name, by source, or by both.
// Without either, each is.
func (l *letter) named(names []string, source string) bool {
	return (len(names) == 0 || slices.Contains(names, l.name)) && (source == "" || l.Source == source)
}

// checkNames finds what is no name of a letter.
func checkNames(names []string) error {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return whittle.Errorf(whittle.Invalid, "dead letter %s is named twice", n).WithHint("leave one out")
		}
		if _, err := strconv.ParseUint(strings.TrimPrefix(n, sinkLetter), 10, 64); err != nil {
			return whittle.Errorf(whittle.Invalid, "%q is no dead letter's name", n).
				WithHint("ingest dead ls lists them: numbers, and with --log-first also sink/ and a number")
		}
	}
	return nil
}

// deadBytes bounds the log of the dead letters.
type deadBytes struct {
	DeadBytes units.Bytes `group:"stream" env:"INGEST_DEAD_BYTES" default:"64MiB" placeholder:"SIZE" help:"Drop dead letters beyond this size (${default}): the oldest of the source that has most. 0: never."`
}
