package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// logPlace says which embedded log a verb reads.
type logPlace struct {
	Data string `group:"stream" env:"INGEST_DATA" default:"ingest-data" placeholder:"DIR" help:"Folder of the embedded log (${default}); with --log-first DIR it is DIR/log."`
	Sink string `hidden:"" group:"stream" env:"INGEST_SINK" default:"embedded"`
}

// ownReaders are the tools that read the other streams.
var ownReaders = map[string]string{
	"kafka":   "kcat -C -b BROKER -t TOPIC",
	"kinesis": "aws kinesis get-records",
	"nats":    "nats stream view STREAM",
}

// check refuses a stream that is not the embedded log: its own tools read it.
func (f *logPlace) check() error {
	if f.Sink == "embedded" {
		return nil
	}
	return whittle.Errorf(whittle.Invalid, "this verb reads the embedded log, and the stream is %s", f.Sink).
		WithHint("read it with its own tools: " + cmp.Or(ownReaders[f.Sink], "kcat, aws, nats") + ". For an embedded log give --sink embedded and --data DIR")
}

// open opens the log next to the server that may be writing it. A folder without a log is
// not an empty log: nothing would be read of a wrong one, and all would seem well.
func (f *logPlace) open() (*embedded.Log, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	l, err := embedded.Open(f.Data, embedded.Options{ReadOnly: true})
	return l, f.noLog(err)
}

// noLog says of a folder that is not there that the log is not.
func (f *logPlace) noLog(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return whittle.Errorf(whittle.NotFound, "there is no log in %s", f.Data).
		WithHint("name the server's folder by --data; with --log-first DIR the log is in DIR/log")
}

// begin is the offset that a position names, at most the end of the log.
func begin(l *embedded.Log, from string) (uint64, error) {
	first, next, err := l.Bounds()
	if err != nil || from == "" {
		return first, err
	}
	partition, offset, _ := strings.Cut(from, "/")
	n, err := strconv.ParseUint(cmp.Or(offset, "0"), 10, 64)
	switch {
	case err != nil || partition != embedded.Partition:
		return 0, whittle.Errorf(whittle.Invalid, "%q is no position", from).WithHint("a position is partition/offset as the responses name it: 0/123")
	case n > next:
		return 0, whittle.Errorf(whittle.Invalid, "%s is behind the end of the log, where the next event will be at %s/%d", from, partition, next)
	}
	return n, nil
}

// shown is an entry as a line of JSON.
type shown struct {
	Position string            `json:"position"`
	Time     time.Time         `json:"time"`
	ID       string            `json:"id,omitempty"`
	Key      string            `json:"key,omitempty"`
	Header   map[string]string `json:"header,omitempty"`
	body
}

// body is a value in whichever form can hold it.
type body struct {
	JSON   json.RawMessage `json:"value,omitempty"`
	Text   string          `json:"text,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

func bodyOf(value []byte) body {
	switch {
	case json.Valid(value):
		return body{JSON: value}
	case utf8.Valid(value):
		return body{Text: string(value)}
	}
	return body{Base64: value}
}

func show(e *stream.Entry) shown {
	s := shown{Position: formatPosition(e.Position), Time: e.Time, ID: e.ID, Key: e.Key}
	if len(e.Header) > 0 {
		s.Header = make(map[string]string, len(e.Header))
		for _, h := range e.Header {
			if before, ok := s.Header[h.Name]; ok {
				s.Header[h.Name] = before + ", " + h.Value
				continue
			}
			s.Header[h.Name] = h.Value
		}
	}
	s.body = bodyOf(e.Value)
	return s
}

func formatPosition(p stream.Position) string { return p.Partition + "/" + p.Offset }
