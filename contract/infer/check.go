package infer

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle"
	"whittle/contract"
	"whittle/record/capture"
)

// Proof is the result of sending exchanges through a contract.
type Proof struct {
	// Exchanges counts those that belong to one of the contract's methods and
	// succeeded; Kept of them came back the same.
	Exchanges, Kept int
	// Broken lists the places that did not come back the same, one of each.
	Broken []Break
}

// Break is a place at which an exchange changes on its way through the
// contract's messages.
type Break struct {
	Method string
	// Path is "request $.a", "response $.items[*].price", "query page".
	Path string
	Why  string
	// Count of the exchanges.
	Count int
}

// maxBroken bounds the places that a proof lists.
const maxBroken = 100

// Check converts every exchange to the contract's messages, over the wire, and
// back, and compares. JSON must come back as the same JSON value, a text byte
// by byte, a path and a query with the same values.
func Check(entries iter.Seq2[*capture.Entry, error], c *contract.Contract) (*Proof, error) {
	k, err := newChecker(c)
	if err != nil {
		return nil, err
	}
	for x, err := range entries {
		if err != nil {
			return nil, err
		}
		k.see(x)
	}
	return k.proof(), nil
}

// checker checks a contract against exchanges.
type checker struct {
	mapping *mapping
	methods []*checked
	p       Proof
	broken  map[[2]string]*Break
}

type checked struct {
	*contract.Method

	segments          []segment
	request, response *trip
}

func newChecker(c *contract.Contract) (*checker, error) {
	m, err := newMapping(c)
	if err != nil {
		return nil, err
	}
	k := &checker{mapping: m, broken: map[[2]string]*Break{}}
	for i := range c.Methods {
		method := &c.Methods[i]
		segments, ok := patternSegments(method.HTTP.Pattern)
		if !ok {
			return nil, whittle.Errorf(whittle.Unsupported, "check contract: %s has the pattern %q", method.Name, method.HTTP.Pattern)
		}
		k.methods = append(k.methods, &checked{
			Method: method, segments: segments,
			request: m.trip(method.HTTP.Body.Unset), response: m.trip(method.HTTP.Response.Unset),
		})
	}
	return k, nil
}

// find returns the method of an exchange: of several that match, the one with
// the most literals.
func (k *checker) find(method string, path []string) *checked {
	var best *checked
	literals := -1
	for _, m := range k.methods {
		if m.HTTP.Method != method || len(m.segments) != len(path) {
			continue
		}
		n, ok := 0, true
		for i, s := range m.segments {
			if !s.wildcard && s.literal != path[i] || s.wildcard && path[i] == "" {
				ok = false
			} else if !s.wildcard {
				n++
			}
		}
		if ok && n > literals {
			best, literals = m, n
		}
	}
	return best
}

func (k *checker) see(x *capture.Entry) {
	path, query, ok := target(x.Request.Target)
	if !ok || x.Served == whittle.Candidate || x.Request.Truncated || x.Response.Truncated || x.Response.Failure != whittle.NoFailure {
		return
	}
	m := k.find(x.Request.Method, path)
	if m == nil || x.Response.Status != m.HTTP.Response.Status {
		return
	}
	k.p.Exchanges++
	errQuery := k.request(m, path, query, x)
	errResponse := k.response(m, x)
	if errQuery == nil && errResponse == nil {
		k.p.Kept++
	}
	k.broke(m, "request", errQuery)
	k.broke(m, "response", errResponse)
}

func (k *checker) broke(m *checked, label string, err error) {
	if err == nil {
		return
	}
	path, why := label, err.Error()
	var d differs
	if errors.As(err, &d) {
		path, why = label+" "+string(d), "it came back as another value"
	}
	id := [2]string{m.Name, path}
	b := k.broken[id]
	if b == nil {
		if len(k.broken) == maxBroken {
			return
		}
		b = &Break{Method: m.Name, Path: path, Why: why}
		k.broken[id] = b
	}
	b.Count++
}

func (k *checker) proof() *Proof {
	p := k.p
	for _, id := range slices.SortedFunc(maps.Keys(k.broken), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		p.Broken = append(p.Broken, *k.broken[id])
	}
	return &p
}

// differs is the path at which a JSON value came back as another one.
type differs string

func (d differs) Error() string { return string(d) + " differs" }

// request sends path, query and body through the input.
func (k *checker) request(m *checked, path []string, query url.Values, x *capture.Entry) error {
	msg := protoreflect.Message(dynamicpb.NewMessage(k.mapping.types[m.Input]))
	input := k.mapping.c.Message(m.Input)
	h := &m.HTTP
	if h.Body.Form == contract.Object && len(x.Request.Body) > 0 {
		v, err := parse(x.Request.Body)
		if err != nil {
			return err
		}
		if msg, err = m.request.read(v, m.Input, "$"); err != nil {
			return err
		}
	}
	param := 0
	for i, s := range m.segments {
		if s.wildcard {
			if err := k.mapping.setText(msg, namedField(input, h.Path[param].Field), path[i:i+1]); err != nil {
				return fmt.Errorf("path: %w", err)
			}
			param++
		}
	}
	for _, p := range h.Query {
		if err := k.mapping.setText(msg, namedField(input, p.Field), query[p.Name]); err != nil {
			return fmt.Errorf("query %s: %w", p.Name, err)
		}
	}
	if err := m.fillBody(msg, input, x.Request.Body); err != nil {
		return err
	}
	back, err := wire(msg)
	if err != nil {
		return err
	}
	return m.sameRequest(back, input, path, query, x.Request.Body)
}

// fillBody sets what comes of a body that is no object.
func (m *checked) fillBody(msg protoreflect.Message, input *contract.Message, body []byte) error {
	h := &m.HTTP.Body
	f := namedField(input, h.Field)
	switch {
	case len(body) == 0:
	case h.Form == contract.Whole:
		v, err := parse(body)
		if err != nil {
			return err
		}
		return m.request.readField(msg, f, v, "$")
	case h.Form == contract.Text:
		return m.request.m.setText(msg, f, []string{string(body)})
	case h.Form == contract.Form:
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		for _, p := range h.Pairs {
			if err := m.request.m.setText(msg, namedField(input, p.Field), values[p.Name]); err != nil {
				return fmt.Errorf("form %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// setText sets a field from the texts at its place outside of JSON.
func (m *mapping) setText(msg protoreflect.Message, f *contract.Field, texts []string) error {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	if len(texts) > 1 && !f.Repeated {
		return errors.New("there are several values")
	}
	for _, text := range texts {
		k := kindText
		switch f.Type {
		case contract.Bool:
			k = kindBool
		case contract.Int32, contract.Int64, contract.Uint64, contract.Double:
			k = kindNumber
		}
		v, ok := scalarOf(f.Type, k, text)
		if f.Type == contract.EnumType {
			v, ok = m.enumOf(f, kindText, text)
		}
		switch {
		case !ok:
			return fmt.Errorf("%.40q is no %s", text, f.Type)
		case f.Repeated:
			msg.Mutable(fd).List().Append(v)
		default:
			msg.Set(fd, v)
		}
	}
	return nil
}

// textsOf gives what setText was given.
func (m *mapping) textsOf(msg protoreflect.Message, f *contract.Field) []string {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	text := func(v protoreflect.Value) string {
		if f.Type == contract.EnumType {
			return m.wordOf(f, v).text
		}
		return writeScalar(v).text
	}
	var out []string
	switch {
	case f.Repeated:
		for i := range msg.Get(fd).List().Len() {
			out = append(out, text(msg.Get(fd).List().Get(i)))
		}
	case !fd.HasPresence() || msg.Has(fd):
		out = append(out, text(msg.Get(fd)))
	}
	return out
}

// sameRequest compares what a message gives with what went into it.
func (m *checked) sameRequest(msg protoreflect.Message, input *contract.Message, path []string, query url.Values, body []byte) error {
	h := &m.HTTP
	param := 0
	for i, s := range m.segments {
		if s.wildcard {
			if !slices.Equal(m.request.m.textsOf(msg, namedField(input, h.Path[param].Field)), path[i:i+1]) {
				return fmt.Errorf("path {%s} came back as another value", h.Path[param].Field)
			}
			param++
		}
	}
	for _, p := range h.Query {
		if !slices.Equal(m.request.m.textsOf(msg, namedField(input, p.Field)), query[p.Name]) {
			return fmt.Errorf("query %s came back as another value", p.Name)
		}
	}
	switch h.Body.Form {
	case contract.Object, contract.Whole:
		return m.sameBody(msg, input, body)
	case contract.Form:
		values, _ := url.ParseQuery(string(body))
		for _, p := range h.Body.Pairs {
			if !slices.Equal(m.request.m.textsOf(msg, namedField(input, p.Field)), values[p.Name]) {
				return fmt.Errorf("form %s came back as another value", p.Name)
			}
		}
	case contract.Text:
		if strings.Join(m.request.m.textsOf(msg, namedField(input, h.Body.Field)), "") != string(body) {
			return errors.New("the text came back as another one")
		}
	}
	return nil
}

func (m *checked) sameBody(msg protoreflect.Message, input *contract.Message, body []byte) error {
	h := &m.HTTP
	var back *value
	if h.Body.Form == contract.Object {
		back = m.request.write(msg, m.Input, "$")
		// Fields of path and query are no members of the body.
		for _, list := range [][]contract.Parameter{h.Path, h.Query} {
			for _, p := range list {
				back.remove(namedField(input, p.Field).JSONName())
			}
		}
		if len(body) == 0 && h.Body.Optional && len(back.keys) == 0 {
			return nil
		}
	} else if back = m.request.writeField(msg, namedField(input, h.Body.Field), "$"); back == nil || len(body) == 0 {
		if back == nil && len(body) == 0 {
			return nil
		}
		return differs("$")
	}
	sent, err := parse(body)
	if err != nil {
		return err
	}
	if d := firstDifference(sent, back, "$"); d != "" {
		return differs(d)
	}
	return nil
}

func (v *value) remove(key string) {
	if i := slices.Index(v.keys, key); i >= 0 {
		v.keys, v.items = slices.Delete(v.keys, i, i+1), slices.Delete(v.items, i, i+1)
	}
}

// response sends a response through the output.
func (k *checker) response(m *checked, x *capture.Entry) error {
	a := &m.HTTP.Response
	output := k.mapping.c.Message(m.Output)
	msg := protoreflect.Message(dynamicpb.NewMessage(k.mapping.types[m.Output]))
	switch a.Form {
	case contract.NoBody:
		if len(x.Response.Body) > 0 {
			return errors.New("there is a body")
		}
		return nil
	case contract.Text:
		return k.mapping.textTrip(msg, output, a.Parts, string(x.Response.Body))
	}
	v, err := parse(x.Response.Body)
	if err != nil {
		return err
	}
	if a.Form == contract.Object {
		msg, err = m.response.read(v, m.Output, "$")
	} else {
		err = m.response.readField(msg, namedField(output, a.Field), v, "$")
	}
	if err != nil {
		return err
	}
	if msg, err = wire(msg); err != nil {
		return err
	}
	var back *value
	if a.Form == contract.Object {
		back = m.response.write(msg, m.Output, "$")
	} else if back = m.response.writeField(msg, namedField(output, a.Field), "$"); back == nil {
		return differs("$")
	}
	if d := firstDifference(v, back, "$"); d != "" {
		return differs(d)
	}
	return nil
}

// textTrip parses a text by the template and writes it again.
func (m *mapping) textTrip(msg protoreflect.Message, output *contract.Message, template []contract.Part, text string) error {
	parts := make([]part, len(template))
	for i, p := range template {
		parts[i].literal = p.Literal
		if f := namedField(output, p.Field); f != nil {
			parts[i].hole = &hole{text: f.Type == contract.String}
		}
	}
	found, ok := fit(parts, text)
	if !ok {
		return errors.New("the text does not fit the template")
	}
	for _, p := range template {
		if p.Field != "" {
			if err := m.setText(msg, namedField(output, p.Field), found[:1]); err != nil {
				return err
			}
			found = found[1:]
		}
	}
	msg, err := wire(msg)
	if err != nil {
		return err
	}
	back := ""
	for _, p := range template {
		back += p.Literal
		if p.Field != "" {
			back += strings.Join(m.textsOf(msg, namedField(output, p.Field)), "")
		}
	}
	if back != text {
		return errors.New("the text came back as another one")
	}
	return nil
}
