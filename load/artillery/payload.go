package artillery

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"whittle"
	"whittle/internal/units"
	"whittle/load/expr"
	"whittle/load/plan"
)

// payloads reads config.payload: one mapping or a list of them.
func (r *reader) payloads(n *node) {
	for _, item := range n.each() {
		r.payload(item)
	}
}

// payloadSpec is a payload as it is written.
type payloadSpec struct {
	path, name, order, delimiter string
	skipHeader, skipEmpty, cast  bool
	all                          bool
	fields                       *node
}

func (r *reader) payload(n *node) {
	s := payloadSpec{delimiter: ",", cast: true, skipEmpty: true}
	r.fields(n, "payload", map[string]func(*node){
		"path":           str(&s.path),
		"name":           str(&s.name),
		"loadAll":        boolean(&s.all),
		"fields":         func(v *node) { s.fields = v },
		"order":          oneOf(&s.order, "random", "sequence"),
		"skipHeader":     boolean(&s.skipHeader),
		"delimiter":      str(&s.delimiter),
		"cast":           boolean(&s.cast),
		"skipEmptyLines": boolean(&s.skipEmpty),
	}, nil)
	switch {
	case s.path == "" || s.fields == nil || s.fields.kind != expr.KindList || len(s.fields.items) == 0:
		panic(n.Invalid("a payload has a path and a list of fields"))
	case len(s.delimiter) != 1 || strings.ContainsAny(s.delimiter, "\"\r\n"):
		panic(n.get("delimiter").Invalid("a delimiter is one character other than a quote"))
	case s.all && !expr.IsName(s.name):
		panic(n.Invalid("a payload with loadAll has a name, that of the variable with all rows"))
	}
	path := r.fixed(n.get("path"), "a path")
	if r.Source.Open == nil {
		panic(n.get("path").Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", path))
	}
	src, err := r.Source.Open(path)
	if err != nil {
		panic(n.get("path").Errorf(whittle.CodeOf(err), "%v", err))
	}
	for _, f := range s.fields.items {
		if !expr.IsName(f.text) {
			panic(f.Invalid("%q is not a variable's name", f.text))
		}
	}
	rows, err := readRows(src, rune(s.delimiter[0]), len(s.fields.items), s.skipHeader, s.skipEmpty, s.cast)
	if err == nil && s.all {
		err = r.payloadVariable(&s, rows)
	}
	if err != nil {
		panic(n.get("path").Invalid("%s: %v", path, err))
	}
	if s.all {
		return
	}
	p := plan.Payload{Sequence: s.order == "sequence", Rows: rows}
	for _, f := range s.fields.items {
		p.Slots = append(p.Slots, r.Define(f.text))
	}
	r.Plan.Payloads = append(r.Plan.Payloads, p)
}

// maxPayloadJSON bounds the rows of a payload with loadAll, written as JSON.
const maxPayloadJSON = 8 << 20

// payloadVariable makes one variable of all rows: a list of mappings.
func (r *reader) payloadVariable(s *payloadSpec, rows [][]expr.Value) error {
	all := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, '{')
		for k, v := range row {
			if v.JSON == "" {
				continue
			}
			if k > 0 {
				all = append(all, ',')
			}
			all = append(append(expr.AppendJSONString(all, s.fields.items[k].text), ':'), v.JSON...)
		}
		all = append(all, '}')
		if len(all) > maxPayloadJSON {
			return fmt.Errorf("more than %d bytes, which is too much for loadAll", maxPayloadJSON)
		}
	}
	doc, ok := expr.ParseDocument(string(append(all, ']')))
	if !ok {
		return fmt.Errorf("more than %d values, which is too much for loadAll", expr.MaxDocuments)
	}
	r.Plan.Variables = append(r.Plan.Variables, plan.Variable{Slot: r.Define(s.name), Choices: []expr.Value{doc.Value()}})
	return nil
}

func readRows(src []byte, delimiter rune, columns int, skipHeader, skipEmpty, cast bool) ([][]expr.Value, error) {
	c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))))
	c.Comma, c.FieldsPerRecord, c.LazyQuotes = delimiter, -1, true
	records, err := c.ReadAll()
	if err != nil {
		return nil, err
	}
	if skipHeader && len(records) > 0 {
		records = records[1:]
	}
	if len(records) > plan.MaxRows {
		return nil, errors.New("more than a million rows")
	}
	var rows [][]expr.Value
	for _, rec := range records {
		if skipEmpty && len(rec) == 1 && strings.TrimSpace(rec[0]) == "" {
			continue
		}
		row := make([]expr.Value, columns) // what a short row does not have is undefined
		for i := range min(columns, len(rec)) {
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
func cellValue(cell string, cast bool) expr.Value {
	v := expr.TextValue(cell)
	if !cast || cell == "" || strings.Trim(cell, "0123456789.eE+-") != "" {
		return v
	}
	f, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(f, 0) {
		return v
	}
	v.JSON = units.Plain(f)
	if n, err := strconv.ParseInt(cell, 10, 64); err == nil {
		v.JSON = strconv.FormatInt(n, 10)
	}
	v.Text = v.JSON
	return v
}
