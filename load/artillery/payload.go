package artillery

import (
	"errors"
	"fmt"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// payloadSpec is a payload as it is written.
type payloadSpec struct {
	csvFormat
	path, name, order string
	skipHeader, all   bool
	bom               bool
	fields            *node
}

// payload reads one of config.payload.
func (r *reader) payload(n *node) {
	s := payloadSpec{csvFormat: csvFormat{delimiters: []string{","}, quote: `"`, escape: `"`, cast: true, skipEmpty: true}}
	r.fields(n, "payload", map[string]func(*node){
		"path":           str(&s.path),
		"name":           str(&s.name),
		"loadAll":        boolean(&s.all),
		"fields":         func(v *node) { s.fields = v },
		"order":          oneOf(&s.order, "random", "sequence"),
		"skipHeader":     boolean(&s.skipHeader),
		"delimiter":      oneText(&s.delimiters),
		"cast":           boolean(&s.cast),
		"skipEmptyLines": boolean(&s.skipEmpty),
		"options":        accepted, // read behind the others
	})
	if s.skipHeader {
		s.fromLine = 2
	}
	if o := n.get("options"); o != nil {
		r.csvOptions(&s, o)
	}
	switch {
	case s.path == "" || s.fields == nil || s.fields.kind != expr.KindList || len(s.fields.items) == 0:
		panic(n.Invalid("a payload has a path and a list of fields"))
	case s.all && s.name == "":
		r.note(n, "the payload is left out, as by Artillery: with loadAll its rows are in a variable, which has no name")
		return
	case s.all && !expr.IsName(s.name):
		panic(n.Invalid("%q is not a variable's name", s.name))
	}
	path := r.fixed(n.get("path"), "a path")
	src := r.open(n.get("path"), path)
	for _, f := range s.fields.items {
		if !expr.IsName(f.text) {
			panic(f.Invalid("%q is not a variable's name", f.text))
		}
	}
	text, marked := strings.CutPrefix(string(src), "\ufeff")
	if marked && !s.bom && s.fromLine < 2 {
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

// open reads a file that the plan names.
func (r *reader) open(n *node, path string) []byte {
	if r.Source.Open == nil {
		panic(n.Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", path))
	}
	src, err := r.Source.Open(path)
	if err != nil {
		panic(n.Errorf(whittle.CodeOf(err), "%v", err))
	}
	return src
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
	records, err := f.read(src)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, errors.New("no rows")
	}
	rows := make([][]expr.Value, len(records))
	for i, rec := range records {
		row := make([]expr.Value, columns) // what a short row does not have is undefined
		for k := range min(columns, len(rec)) {
			row[k] = cellValue(rec[k], f.cast)
		}
		rows[i] = row
	}
	return rows, nil
}

// csvOptions reads payload.options, which Artillery gives to csv-parse.
func (r *reader) csvOptions(s *payloadSpec, n *node) {
	var unused string
	line := func(into *int) func(*node) {
		return func(v *node) {
			f := 0.0
			number(&f, 1, 1e9)(v)
			*into = int(f)
		}
	}
	known := map[string]func(*node){
		"delimiter": oneText(&s.delimiters), "record_delimiter": oneText(&s.recordDelimiters), "rowDelimiter": oneText(&s.recordDelimiters),
		"quote": noneOr(&s.quote), "escape": noneOr(&s.escape), "comment": noneOr(&s.comment),
		"trim":  func(v *node) { boolean(&s.ltrim)(v); s.rtrim = s.ltrim },
		"ltrim": boolean(&s.ltrim), "rtrim": boolean(&s.rtrim), "bom": boolean(&s.bom), "cast": boolean(&s.cast),
		"skip_empty_lines": boolean(&s.skipEmpty), "skip_lines_with_empty_values": boolean(&s.skipBlank),
		"relax": boolean(&s.relax), "relax_column_count": boolean(&s.relaxCount), "encoding": str(&unused),
		"from_line": line(&s.fromLine), "to_line": line(&s.toLine), "from": line(&s.from), "to": line(&s.to),
	}
	for _, f := range n.fields {
		if known[f.name] == nil {
			panic(f.Errorf(whittle.Unsupported, "the option %s of a CSV file is not supported; %s", f.name, fieldNames(known)))
		}
	}
	r.fields(n, "payload.options", known)
}

// oneText reads a text that is not empty, or a list of those.
func oneText(into *[]string) func(*node) {
	return func(n *node) {
		*into = nil
		for _, item := range n.each() {
			var text string
			if str(&text)(item); text == "" {
				panic(item.Invalid("a delimiter has at least one character"))
			}
			*into = append(*into, text)
		}
	}
}

// noneOr reads a text that null, false or an empty one takes away.
func noneOr(into *string) func(*node) {
	return func(n *node) {
		if *into = ""; n.kind != expr.KindNull && n.text != "false" {
			str(into)(n)
		}
	}
}
