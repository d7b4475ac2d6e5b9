package load

import (
	"bytes"
	"encoding/csv"
	"errors"
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

func (r *reader) payload(n *node) error {
	var path, order string
	delimiter := ","
	var skipHeader bool
	cast, skipEmpty := true, true
	var names *node
	err := r.fields(n, "payload", map[string]func(*node) error{
		"path":           str(&path),
		"fields":         func(v *node) error { names = v; return nil },
		"order":          oneOf(&order, "random", "sequence"),
		"skipHeader":     boolean(&skipHeader),
		"delimiter":      str(&delimiter),
		"cast":           boolean(&cast),
		"skipEmptyLines": boolean(&skipEmpty),
	}, map[string]string{
		"loadAll": "each virtual user gets one row", "name": "each virtual user gets one row",
	})
	switch {
	case err != nil:
		return err
	case path == "" || names == nil || names.kind != kindList || len(names.items) == 0:
		return n.invalid("a payload has a path and a list of fields")
	case len(delimiter) != 1 || strings.ContainsAny(delimiter, "\"\r\n"):
		return n.get("delimiter").invalid("a delimiter is one character other than a quote")
	case r.source.Open == nil:
		return n.get("path").errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", path)
	}
	src, err := r.source.Open(path)
	if err != nil {
		return n.get("path").errorf(whittle.CodeOf(err), "%v", err)
	}
	p := payload{sequence: order == "sequence"}
	for _, f := range names.items {
		if !isName(f.text) {
			return f.invalid("%q is not a variable's name", f.text)
		}
		p.slots = append(p.slots, r.define(f.text))
	}
	if p.rows, err = readRows(src, rune(delimiter[0]), len(p.slots), skipHeader, skipEmpty, cast); err != nil {
		return n.get("path").invalid("%s: %v", path, err)
	}
	r.plan.payloads = append(r.plan.payloads, p)
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
