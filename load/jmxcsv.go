package load

import (
	"bytes"
	"context"
	"encoding/csv"
	"strconv"
	"strings"
	"sync/atomic"

	"whittle"
)

// endOfFile is what the variables of a data set hold that has come to its end.
const endOfFile = "<EOF>"

// dataSet deals a row of a CSV file to a user at each loop.
type dataSet struct {
	slots   []int
	rows    [][]value
	recycle bool
	stop    bool // a user for whom no row is left ends
	share   string
}

// prelude reads the elements that go on with each loop. Nil: it is none.
func (j *jmxReader) prelude(e *element) (action, error) {
	switch e.name {
	case "CSVDataSet":
		return j.dataSet(e)
	case "CounterConfig":
		return j.counterElement(e)
	}
	return nil, nil
}

func (j *jmxReader) dataSet(e *element) (action, error) {
	err := j.only(e, "filename", "fileEncoding", "variableNames", "delimiter", "quotedData", "recycle", "stopThread", "shareMode", "ignoreFirstLine")
	if err != nil {
		return nil, err
	}
	d := &dataSet{recycle: e.value("recycle") != "false", stop: e.is("stopThread"), share: strings.TrimPrefix(e.value("shareMode"), "shareMode.")}
	switch d.share {
	case "all", "group", "thread":
	case "":
		d.share = "all"
	default:
		return nil, e.where("shareMode").errorf(whittle.Unsupported, "the sharing mode %s is not supported", e.value("shareMode"))
	}
	switch strings.ToUpper(e.value("fileEncoding")) {
	case "", "UTF-8", "UTF8", "US-ASCII":
	default:
		return nil, e.where("fileEncoding").errorf(whittle.Unsupported, "the encoding %s is not supported: a CSV file is in UTF-8", e.value("fileEncoding"))
	}
	name, err := j.fixed(e.tag, "filename")
	if err != nil {
		return nil, err
	}
	delimiter := e.value("delimiter")
	switch delimiter {
	case "":
		delimiter = ","
	case `\t`:
		delimiter = "\t"
	}
	if len(delimiter) != 1 || strings.ContainsAny(delimiter, "\"\r\n") {
		return nil, e.where("delimiter").invalid("a delimiter is one character other than a quote")
	}
	records, err := j.open(e.where("filename"), name, delimiter[0], e.is("quotedData"))
	if err != nil {
		return nil, err
	}
	names := strings.Split(e.value("variableNames"), ",")
	named := strings.TrimSpace(e.value("variableNames")) != ""
	if !named && len(records) > 0 {
		names = texts(records[0])
	}
	if (!named || e.is("ignoreFirstLine")) && len(records) > 0 {
		records = records[1:]
	}
	for _, n := range names {
		n = strings.TrimSpace(n)
		j.runtime[n] = true
		d.slots = append(d.slots, j.define(n))
	}
	if len(records) == 0 {
		return nil, e.where("filename").invalid("%s has no rows", name)
	}
	d.rows = records
	return d, nil
}

func texts(row []value) []string {
	out := make([]string, len(row))
	for i := range row {
		out[i] = row[i].text
	}
	return out
}

// open reads a CSV file once.
func (j *jmxReader) open(at *node, name string, delimiter byte, quoted bool) ([][]value, error) {
	key := name + string(delimiter) + strconv.FormatBool(quoted)
	if rows, ok := j.files[key]; ok {
		return rows, nil
	}
	if j.source.Open == nil {
		return nil, at.errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", name)
	}
	src, err := j.source.Open(name)
	if err != nil {
		return nil, at.errorf(whittle.CodeOf(err), "%v", err)
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	var rows [][]value
	if quoted {
		c := csv.NewReader(bytes.NewReader(src))
		c.Comma, c.FieldsPerRecord, c.LazyQuotes = rune(delimiter), -1, true
		records, err := c.ReadAll()
		if err != nil {
			return nil, at.invalid("%s: %v", name, err)
		}
		for _, r := range records {
			rows = append(rows, cells(r))
		}
	} else {
		for line := range strings.Lines(string(src)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				rows = append(rows, cells(strings.Split(line, string(delimiter))))
			}
		}
	}
	if len(rows) > maxPayloadRows {
		return nil, at.errorf(whittle.ResourceExhausted, "%s has more than %d rows", name, maxPayloadRows)
	}
	j.files[key] = rows
	return rows, nil
}

func cells(record []string) []value {
	out := make([]value, len(record))
	for i, c := range record {
		out[i] = textValue(c)
	}
	return out
}

func (*dataSet) inner() []step { return nil }

func (d *dataSet) act(_ context.Context, w *worker) bool {
	m := w.member
	var n int64 // rows dealt so far, this one included
	switch d.share {
	case "thread":
		n = m.count(d)
	case "group":
		n = shared[atomic.Int64](w.run, [2]any{d, m.crowd}).Add(1)
	default:
		n = shared[atomic.Int64](w.run, d).Add(1)
	}
	if n > int64(len(d.rows)) && !d.recycle {
		if d.stop {
			m.done = true
			return false
		}
		for _, slot := range d.slots {
			w.scope.values[slot] = textValue(endOfFile)
		}
		return true
	}
	row := d.rows[(n-1)%int64(len(d.rows))]
	for i, slot := range d.slots[:min(len(d.slots), len(row))] {
		w.scope.values[slot] = row[i]
	}
	return true
}

// csvRead compiles __CSVRead(file, column) and __CSVRead(file, next): a user
// keeps its row until it asks for the next; all users share the file.
func (j *jmxReader) csvRead(c *functionCall) (expression, error) {
	name, err := c.fixed(0, "")
	if err != nil {
		return expression{}, err
	}
	column, err := c.fixed(1, "")
	if err != nil {
		return expression{}, err
	}
	if name == "" || strings.HasPrefix(name, "*") || len(c.args) != 2 {
		return expression{}, c.at.errorf(whittle.Unsupported, "${__%s}: takes a file and a column or next; aliases are not supported", c.raw)
	}
	rows, err := j.open(c.at, name, ',', true)
	if err != nil {
		return expression{}, err
	}
	if len(rows) == 0 {
		return expression{}, c.at.invalid("%s has no rows", name)
	}
	key := csvKey(name)
	at := func(m *member) int64 {
		if m.own[key] == 0 {
			m.count(key)
			m.own[key] = shared[atomic.Int64](m.run, key).Add(1)
		}
		return (m.own[key] - 1) % int64(len(rows))
	}
	if column == "next" {
		return expression{eval: func(s *scope) value {
			at(s.member)
			s.member.own[key] = shared[atomic.Int64](s.member.run, key).Add(1)
			return textValue("")
		}}, nil
	}
	i, err := strconv.Atoi(column)
	if err != nil || i < 0 {
		return expression{}, c.at.invalid("${__%s}: %q is not a column", c.raw, column)
	}
	return expression{eval: func(s *scope) value {
		row := rows[at(s.member)]
		if i >= len(row) {
			return textValue("")
		}
		return row[i]
	}}, nil
}

type csvKey string

// counterSteps sets a variable to the next number at each loop.
type counterSteps struct {
	slot              int
	first, last, step int64
	each              bool // every user counts for itself
}

func (j *jmxReader) counterElement(e *element) (action, error) {
	err := j.only(e, "CounterConfig.start", "CounterConfig.end", "CounterConfig.incr", "CounterConfig.name", "CounterConfig.per_user")
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(e.value("CounterConfig.name"))
	if name == "" {
		return nil, e.at.invalid("%s has no variable to count in", e.title())
	}
	c := &counterSteps{slot: j.define(name), each: e.is("CounterConfig.per_user")}
	if c.first, err = j.whole(e.tag, "CounterConfig.start", -maxRandom, maxRandom, 0); err != nil {
		return nil, err
	}
	if c.last, err = j.whole(e.tag, "CounterConfig.end", -maxRandom, maxRandom, maxRandom); err != nil {
		return nil, err
	}
	c.step, err = j.whole(e.tag, "CounterConfig.incr", 1, maxRandom, 1)
	return c, err
}

func (*counterSteps) inner() []step { return nil }

func (c *counterSteps) act(_ context.Context, w *worker) bool {
	var n int64
	if c.each {
		n = w.member.count(c)
	} else {
		n = shared[atomic.Int64](w.run, c).Add(1)
	}
	length := max((c.last-c.first)/c.step+1, 1)
	w.scope.values[c.slot] = numberValue(c.first + (n-1)%length*c.step)
	return true
}
