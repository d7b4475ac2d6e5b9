package artillery

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"whittle/load/expr"
	"whittle/load/plan"
)

// csvFormat is how a file of rows is written: the options of csv-parse 4, by which
// Artillery reads it.
type csvFormat struct {
	delimiters, recordDelimiters []string // of records, none: what ends the first line
	quote, escape, comment       string   // empty: there is none
	ltrim, rtrim                 bool
	skipEmpty, skipBlank         bool // records without anything; of nothing but empty fields
	relax, relaxCount            bool
	cast                         bool
	fromLine, toLine, from, to   int // 0: no bound
}

// csvReader is a file being read.
type csvReader struct {
	csvFormat
	src                  string
	at, line             int
	rows                 [][]string
	records, width       int
	record               []string
	field                []byte
	quoting, wasQuoting  bool
	commenting, disabled bool
}

// read returns the file's records.
func (f csvFormat) read(src string) ([][]string, error) {
	r := csvReader{csvFormat: f, src: src, line: 1, disabled: f.fromLine > 1}
	for r.at < len(src) && !r.over() {
		if err := r.step(src[r.at:]); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	if r.quoting {
		return nil, fmt.Errorf("line %d: the file ends within quotes", r.line)
	}
	if !r.over() && (r.wasQuoting || len(r.record) > 0 || len(r.field) > 0) {
		r.endField()
		if err := r.endRecord(); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	return r.rows, nil
}

func (r *csvReader) over() bool {
	return r.toLine > 0 && r.line > r.toLine || r.to > 0 && r.records >= r.to
}

// step reads what stands at the beginning of rest.
func (r *csvReader) step(rest string) error {
	if r.quoting {
		return r.quoted(rest)
	}
	if len(r.recordDelimiters) == 0 {
		r.recordDelimiters = lineEnd(rest)
	}
	if !r.commenting && r.quote != "" && strings.HasPrefix(rest, r.quote) {
		if len(r.field) == 0 {
			r.quoting = true
			r.at += len(r.quote)
			return nil
		}
		if !r.relax {
			return errors.New("a quote stands inside a field that is not quoted; payload: {options: {relax: true}} takes it as it is")
		}
	}
	if end := prefix(rest, r.recordDelimiters); end > 0 {
		r.at += end
		err := r.endLine()
		r.line++
		return err
	}
	if r.commenting {
		r.at++
		return nil
	}
	if r.comment != "" && strings.HasPrefix(rest, r.comment) {
		r.commenting = true
		r.at++
		return nil
	}
	if n := prefix(rest, r.delimiters); n > 0 {
		r.endField()
		r.at += n
		return nil
	}
	r.at++
	blank := trimmable(rest[0])
	switch {
	case r.ltrim && len(r.field) == 0 && !r.wasQuoting && blank, r.rtrim && r.wasQuoting && blank:
	case r.rtrim && r.wasQuoting:
		return errors.New("something stands between a closing quote and the field's end")
	default:
		r.field = append(r.field, rest[0])
	}
	return nil
}

// quoted reads within quotes.
func (r *csvReader) quoted(rest string) error {
	if r.escape != "" && strings.HasPrefix(rest, r.escape) && len(rest) > len(r.escape) {
		after := rest[len(r.escape):]
		if r.escape != r.quote || strings.HasPrefix(after, r.quote) {
			r.field = append(r.field, after[0])
			r.at += len(r.escape) + 1
			return nil
		}
	}
	if !strings.HasPrefix(rest, r.quote) {
		if rest[0] == '\n' {
			r.line++
		}
		r.field = append(r.field, rest[0])
		r.at++
		return nil
	}
	after := rest[len(r.quote):]
	ends := after == "" || prefix(after, r.delimiters) > 0 || prefix(after, r.recordDelimiters) > 0 ||
		len(r.recordDelimiters) == 0 && lineEnd(after) != nil ||
		r.comment != "" && strings.HasPrefix(after, r.comment) || r.rtrim && trimmable(after[0])
	r.quoting, r.wasQuoting = false, true
	r.at += len(r.quote)
	switch {
	case ends:
	case r.relax:
		r.field = append(append([]byte(r.quote), r.field...), r.quote...)
	default:
		return errors.New("a quote in a quoted field is neither doubled nor its end")
	}
	return nil
}

// endLine is called behind what ends a record outside of quotes.
func (r *csvReader) endLine() error {
	nothing := !r.wasQuoting && len(r.record) == 0 && len(r.field) == 0
	commenting := r.commenting
	r.commenting = false
	switch {
	case commenting && nothing:
		return nil
	case r.disabled:
		r.field, r.record, r.wasQuoting = nil, nil, false
		r.disabled = r.line+1 < r.fromLine
		return nil
	case r.skipEmpty && nothing:
		return nil
	}
	r.endField()
	return r.endRecord()
}

func (r *csvReader) endField() {
	text := string(r.field)
	if r.rtrim && !r.wasQuoting {
		text = strings.TrimRightFunc(text, jsSpace)
	}
	r.record = append(r.record, text)
	r.field, r.wasQuoting = r.field[:0], false
}

func (r *csvReader) endRecord() error {
	record := r.record
	r.record = nil
	if r.disabled {
		return nil
	}
	if r.records == 0 {
		r.width = len(record)
	}
	if len(record) != r.width && !r.relaxCount {
		return fmt.Errorf("it has %d columns, the first row %d, which Artillery refuses; payload: {options: {relax_column_count: true}} takes it as it is", len(record), r.width)
	}
	if r.skipBlank && !slices.ContainsFunc(record, func(f string) bool { return strings.TrimFunc(f, jsSpace) != "" }) {
		return nil
	}
	if r.records++; r.records < r.from {
		return nil
	}
	if r.rows = append(r.rows, record); len(r.rows) > plan.MaxRows {
		return errors.New("more than a million rows")
	}
	return nil
}

// prefix is the length of the one of some texts that another begins with; 0: none.
func prefix(text string, of []string) int {
	for _, p := range of {
		if strings.HasPrefix(text, p) {
			return len(p)
		}
	}
	return 0
}

// lineEnd is how lines end, where one ends here.
func lineEnd(text string) []string {
	if n := prefix(text, []string{"\r\n", "\n", "\r"}); n > 0 {
		return []string{text[:n]}
	}
	return nil
}

func trimmable(c byte) bool { return strings.IndexByte(" \t\r\n\f", c) >= 0 }

// jsSpace reports what JavaScript takes for white space.
func jsSpace(c rune) bool {
	return unicode.Is(unicode.Zs, c) || strings.ContainsRune("\t\n\v\f\r\u2028\u2029\ufeff", c)
}

var (
	jsDecimal = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	jsRadix   = regexp.MustCompile(`^0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)$`)
)

// cellValue makes a number of what looks like one, where numbers are cast. As csv-parse
// does it, what is written to another base is 0.
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
