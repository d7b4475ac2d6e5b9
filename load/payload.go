package load

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"whittle"
)

// Bounds on a CSV file.
const (
	maxPayloadBytes = 64 << 20
	maxPayloadRows  = 1_000_000
)

// payload is a CSV file whose rows are handed to virtual users.
type payload struct {
	slots    []int // of the fields, in column order
	rows     [][]value
	sequence bool // row i mod n for user i; else at random
}

// payloads reads config.payload: one mapping or a list of them.
func (r *reader) payloads(n *node) error {
	items := n.items
	if n.kind != kindList {
		items = []*node{n}
	}
	for _, item := range items {
		if err := r.payload(item); err != nil {
			return err
		}
	}
	return nil
}

// sheet is a payload as it is written.
type sheet struct {
	path, name, order, delimiter string
	skipHeader, skipEmpty, cast  bool
	all                          bool
	fields                       *node
}

func (r *reader) payload(n *node) error {
	s := sheet{delimiter: ",", cast: true, skipEmpty: true}
	err := r.fields(n, "payload", map[string]func(*node) error{
		"path":           str(&s.path),
		"name":           str(&s.name),
		"loadAll":        boolean(&s.all),
		"fields":         func(v *node) error { s.fields = v; return nil },
		"order":          oneOf(&s.order, "random", "sequence"),
		"skipHeader":     boolean(&s.skipHeader),
		"delimiter":      str(&s.delimiter),
		"cast":           boolean(&s.cast),
		"skipEmptyLines": boolean(&s.skipEmpty),
	}, nil)
	switch {
	case err != nil:
		return err
	case s.path == "" || s.fields == nil || s.fields.kind != kindList || len(s.fields.items) == 0:
		return n.invalid("a payload has a path and a list of fields")
	case len(s.delimiter) != 1 || strings.ContainsAny(s.delimiter, "\"\r\n"):
		return n.get("delimiter").invalid("a delimiter is one character other than a quote")
	case s.all && !isName(s.name):
		return n.invalid("a payload with loadAll has a name, that of the variable with all rows")
	}
	path, err := r.fixed(n.get("path"), "a path")
	if err != nil {
		return err
	}
	if r.source.Open == nil {
		return n.get("path").errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", path)
	}
	src, err := r.source.Open(path)
	if err != nil {
		return n.get("path").errorf(whittle.CodeOf(err), "%v", err)
	}
	for _, f := range s.fields.items {
		if !isName(f.text) {
			return f.invalid("%q is not a variable's name", f.text)
		}
	}
	rows, err := readRows(src, rune(s.delimiter[0]), len(s.fields.items), s.skipHeader, s.skipEmpty, s.cast)
	if err == nil && s.all {
		err = r.sheetVariable(&s, rows)
	}
	if err != nil {
		return n.get("path").invalid("%s: %v", path, err)
	}
	if s.all {
		return nil
	}
	p := payload{sequence: s.order == "sequence", rows: rows}
	for _, f := range s.fields.items {
		p.slots = append(p.slots, r.define(f.text))
	}
	r.plan.payloads = append(r.plan.payloads, p)
	return nil
}

// maxSheetBytes bounds the rows of a payload with loadAll, written as JSON.
const maxSheetBytes = 8 << 20

// sheetVariable makes one variable of all rows: a list of mappings.
func (r *reader) sheetVariable(s *sheet, rows [][]value) error {
	all := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			all = append(all, ',')
		}
		for k, v := range row {
			all = append(all, "{,"[min(k, 1)])
			all = append(append(appendJSONString(all, s.fields.items[k].text), ':'), v.json...)
		}
		all = append(all, '}')
		if len(all) > maxSheetBytes {
			return fmt.Errorf("more than %d bytes, which is too much for loadAll", maxSheetBytes)
		}
	}
	doc, ok := parseDocument(string(append(all, ']')))
	if !ok {
		return fmt.Errorf("more than %d values, which is too much for loadAll", maxDocuments)
	}
	r.plan.variables = append(r.plan.variables, variable{slot: r.define(s.name), choices: []value{doc.value()}})
	return nil
}

func readRows(src []byte, delimiter rune, columns int, skipHeader, skipEmpty, cast bool) ([][]value, error) {
	c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))))
	c.Comma, c.FieldsPerRecord, c.LazyQuotes = delimiter, -1, true
	records, err := c.ReadAll()
	if err != nil {
		return nil, err
	}
	if skipHeader && len(records) > 0 {
		records = records[1:]
	}
	if len(records) > maxPayloadRows {
		return nil, errors.New("more than a million rows")
	}
	var rows [][]value
	for _, rec := range records {
		if skipEmpty && len(rec) == 1 && strings.TrimSpace(rec[0]) == "" {
			continue
		}
		if len(rec) < columns {
			return nil, errors.New("a row of " + strconv.Itoa(len(rec)) + " columns where " + strconv.Itoa(columns) + " fields are named: " + strconv.Quote(strings.Join(rec, string(delimiter))))
		}
		row := make([]value, columns)
		for i := range row {
			row[i] = cellValue(rec[i], cast)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("no rows")
	}
	return rows, nil
}

// cellValue makes a number of what looks like one, where numbers are cast.
func cellValue(cell string, cast bool) value {
	v := textValue(cell)
	if !cast || cell == "" || strings.Trim(cell, "0123456789.eE+-") != "" {
		return v
	}
	f, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(f, 0) {
		return v
	}
	v.json = formatNumber(f)
	if n, err := strconv.ParseInt(cell, 10, 64); err == nil {
		v.json = strconv.FormatInt(n, 10)
	}
	v.text = v.json
	return v
}

// deal gives virtual user i its rows.
func (w *worker) deal() {
	for i := range w.run.plan.payloads {
		p := &w.run.plan.payloads[i]
		at := int(w.index % int64(len(p.rows)))
		if !p.sequence {
			at = w.scope.rng.IntN(len(p.rows))
		}
		for k, slot := range p.slots {
			w.scope.values[slot] = p.rows[at][k]
		}
	}
}
