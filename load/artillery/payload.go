package artillery

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// payloadSpec is a payload as it is written.
type payloadSpec struct {
	csvFormat
	path, name, order string
	all               bool
	fields            *node
}

// csvFormat is how a file of rows is written, as far as encoding/csv reads that as csv-parse
// 4 does, by which Artillery reads it.
type csvFormat struct {
	delimiter  rune
	skipHeader bool
	cast       bool // numbers are numbers
}

// payload reads one of config.payload.
func (r *reader) payload(n *node) {
	s := payloadSpec{csvFormat: csvFormat{delimiter: ',', cast: true}}
	r.fields(n, "payload", map[string]func(*node){
		"path":           str(&s.path),
		"name":           str(&s.name),
		"loadAll":        boolean(&s.all),
		"fields":         func(v *node) { s.fields = v },
		"order":          oneOf(&s.order, "random", "sequence"),
		"skipHeader":     boolean(&s.skipHeader),
		"delimiter":      delimiter(&s.delimiter),
		"cast":           boolean(&s.cast),
		"skipEmptyLines": always,
	})
	if o := n.get("options"); o != nil && len(o.fields) > 0 {
		panic(o.Errorf(whittle.Unsupported, "options of a CSV file are not supported: write the file without what they are for, and name its delimiter next to its path"))
	}
	switch {
	case s.path == "" || s.fields == nil || s.fields.kind != expr.KindList || len(s.fields.items) == 0:
		panic(n.Invalid("a payload has a path and a list of fields"))
	case s.all && s.name == "":
		r.note(n, "the payload is left out, as by Artillery: with loadAll its rows are in a variable, which has no name")
		return
	case s.all && s.order != "":
		panic(n.get("order").Errorf(whittle.Unsupported, "loadAll with an order is not supported: Artillery then takes one row, without its fields' names"))
	case s.all && !expr.IsName(s.name):
		panic(n.Invalid("%q is not a variable's name", s.name))
	}
	path := r.fixed(n.get("path"), "a path")
	src := r.OpenFile(n.get("path").Position, path)
	for _, f := range s.fields.items {
		if !expr.IsName(f.text) {
			panic(f.Invalid("%q is not a variable's name", f.text))
		}
	}
	text, marked := strings.CutPrefix(string(src), "\ufeff")
	if marked && !s.skipHeader {
		r.note(n.get("path"), "%s begins with a byte order mark, which Artillery would leave in its first value; it is left out here", path)
	}
	rows, err := s.values(text, len(s.fields.items))
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

// values are the rows of a file, of as many columns as there are fields.
func (f csvFormat) values(src string, columns int) ([][]expr.Value, error) {
	ends := strings.Count(src, "\r\n")
	if strings.Count(src, "\r") != ends || ends > 0 && strings.Count(src, "\n") != ends {
		return nil, errors.New("its lines end in several ways, or in a carriage return alone: save it with one ending")
	}
	if f.skipHeader {
		src = src[max(strings.IndexByte(src, '\n'), 0):]
	}
	in := csv.NewReader(strings.NewReader(src))
	in.Comma, in.ReuseRecord = f.delimiter, true
	var rows [][]expr.Value
	for {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && len(rows) == 0:
			return nil, errors.New("no rows")
		case errors.Is(err, io.EOF):
			return rows, nil
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("line %d has %d columns and the first row another number, which Artillery refuses", line, len(record))
		case err != nil:
			return nil, err
		case len(rows) == plan.MaxRows:
			return nil, errors.New("more than a million rows")
		}
		row := make([]expr.Value, columns) // what a short row does not have is undefined
		for k := range min(columns, len(record)) {
			if ends > 0 && strings.Contains(record[k], "\n") {
				line, _ := in.FieldPos(k)
				return nil, fmt.Errorf("line %d has a line break within quotes, and lines end in a carriage return: save it without those", line)
			}
			row[k] = cellValue(record[k], f.cast)
		}
		rows = append(rows, row)
	}
}

// always reads an option that is on, and refuses it where it is off.
func always(n *node) {
	on := true
	if boolean(&on)(n); !on {
		panic(n.Errorf(whittle.Unsupported, "empty lines of a CSV file are always left out"))
	}
}

// delimiter reads one character.
func delimiter(into *rune) func(*node) {
	return func(n *node) {
		var text string
		str(&text)(n)
		c, size := utf8.DecodeRuneInString(text)
		if size == 0 || size != len(text) || strings.ContainsRune("\"\r\n\ufffd", c) {
			panic(n.Invalid("a delimiter is one character other than a quote, not %q", text))
		}
		*into = c
	}
}

// jsSpace reports what JavaScript takes for white space.
func jsSpace(c rune) bool {
	return unicode.Is(unicode.Zs, c) || strings.ContainsRune("\t\n\v\f\r\u2028\u2029\ufeff", c)
}

var (
	jsDecimal = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	jsRadix   = regexp.MustCompile(`^0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)$`)
)

// cellValue makes a number of a text that looks like one, where numbers are cast. As in
// csv-parse, a number to another base is 0.
func cellValue(cell string, cast bool) expr.Value {
	v := expr.TextValue(cell)
	if !cast {
		return v
	}
	text := strings.TrimFunc(cell, jsSpace)
	if jsRadix.MatchString(text) {
		text = "0"
	}
	if !jsDecimal.MatchString(text) {
		return v
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
		return v
	}
	v.JSON = jsNumber(text)
	v.Text = v.JSON
	return v
}
