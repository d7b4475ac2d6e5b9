package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle"
)

// frameHeader is what gRPC puts before a message: a flag and four bytes of
// length.
const frameHeader = 5

// Request gives the HTTP request to send to the candidate; r is left as it is.
// A request that has no meaning in the contract is an Invalid error: the
// monolith should answer it.
func (t *Transcoder) Request(r *whittle.Request) (*whittle.Request, error) {
	body, err := t.call(r)
	if err != nil {
		return nil, err
	}
	h := inherit(r.Header, notForwarded, prefixesNotForwarded)
	h["Accept-Encoding"] = identity
	switch t.rpc.Protocol {
	case whittle.Twirp:
		h["Content-Type"] = typeProtobuf
	case whittle.TwirpJSON:
		h["Content-Type"] = typeJSON
	case whittle.Connect:
		h["Content-Type"] = typeProto
		h["Connect-Protocol-Version"] = versionOne
		if t.timeout > 0 {
			h["Connect-Timeout-Ms"] = []string{strconv.FormatInt(min(max(t.timeout.Milliseconds(), 1), 9_999_999_999), 10)}
		}
	case whittle.GRPC:
		h["Content-Type"] = typeGRPC
		h["Te"] = teTrailers
		delete(h, "Accept-Encoding")
		if t.timeout > 0 {
			h["Grpc-Timeout"] = []string{grpcTimeout(t.timeout)}
		}
	}
	return &whittle.Request{Method: "POST", Target: t.path, Host: r.Host, Header: h, Body: body}, nil
}

// The values are shared by all requests: nobody writes into a header's values.
var (
	identity     = []string{"identity"}
	versionOne   = []string{"1"}
	teTrailers   = []string{"trailers"}
	typeJSON     = []string{"application/json"}
	typeProtobuf = []string{"application/protobuf"}
	typeProto    = []string{"application/proto"}
	typeGRPC     = []string{"application/grpc"}
)

// grpcTimeout writes at most eight digits and a unit, rounded up.
func grpcTimeout(d time.Duration) string {
	const most = 99_999_999
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Millisecond, "m"}, {time.Second, "S"}, {time.Minute, "M"}} {
		if n := (d-1)/u.unit + 1; n <= most {
			return strconv.FormatInt(int64(n), 10) + u.name
		}
	}
	return strconv.Itoa(most) + "M"
}

// call makes the call's body of whatever the request says.
func (t *Transcoder) call(r *whittle.Request) ([]byte, error) {
	if r.Truncated && t.rpc.Content != whittle.BodyIgnored {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "translate request: the body is longer than what is kept of it")
	}
	m := t.in.New()
	if err := t.fill(m, r); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "translate request: %w", err)
	}
	if t.rpc.Protocol == whittle.TwirpJSON {
		w := jsonWriter{types: t.types}
		if err := w.message(m, 0, nil); err != nil {
			return nil, whittle.Errorf(whittle.Invalid, "translate request: %w", err)
		}
		return w.b, nil
	}
	free := 0 // for the frame of gRPC
	if t.rpc.Protocol == whittle.GRPC {
		free = frameHeader
	}
	b, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, free, 64), m.Interface())
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "translate request: %w", err)
	}
	if n := len(b) - frameHeader; free > 0 {
		if n > math.MaxInt32 {
			return nil, whittle.Errorf(whittle.ResourceExhausted, "translate request: a message of %d bytes is too long to be framed", n)
		}
		binary.BigEndian.PutUint32(b[1:frameHeader], uint32(n))
	}
	return b, nil
}

// fill sets the message's fields from body or query, then from the path.
func (t *Transcoder) fill(m protoreflect.Message, r *whittle.Request) error {
	path, query, _ := strings.Cut(r.Target, "?")
	hasBody := len(r.Body) > 0 && t.rpc.Content != whittle.BodyIgnored
	given := t.keeps.givens()
	if hasBody {
		if err := t.fillBody(m, r, given); err != nil {
			return err
		}
	}
	if query != "" && (!hasBody || len(t.rpc.Query) > 0 || t.rpc.Strict) {
		if err := t.fillValues(m, "query", query, t.rpc.Query, !hasBody, given); err != nil {
			return err
		}
	}
	for _, w := range t.pattern {
		v, err := w.value(path)
		if err == nil {
			err = t.set(m, w.field, []string{v}, given)
		}
		if err != nil {
			return fmt.Errorf("path: %w", err)
		}
	}
	return t.keeps.holdsAll(m, given, hasBody && t.rpc.Content == whittle.BodyJSON && t.body == nil)
}

// readJSON reads what a user sent.
func (t *Transcoder) readJSON(b []byte, m protoreflect.Message) error {
	b, err := t.words.enums(b, m.Descriptor(), t.words.asked)
	if err != nil {
		return err
	}
	if t.rpc.Strict {
		return protojson.UnmarshalOptions{RecursionLimit: maxDepth, Resolver: t.types}.Unmarshal(b, m.Interface())
	}
	return t.unmarshalJSON(b, m)
}

func (t *Transcoder) unmarshalJSON(b []byte, m protoreflect.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth, Resolver: t.types}.Unmarshal(b, m.Interface())
}

// set gives a field, by a name that may be dotted, what a query or a path says.
// An unknown name is left out, as the monolith leaves it, or refused where the
// route is strict. The texts go through the JSON mapping, which reads numbers,
// enums, bytes and times from strings. given notes the field, and the one at the top.
func (t *Transcoder) set(m protoreflect.Message, name string, values []string, given givens) error {
	parts := strings.Split(name, ".")
	field := dotted(m.Descriptor(), name)
	if field == nil || len(parts) > maxDepth {
		if t.rpc.Strict {
			return errors.New("it has no field")
		}
		return nil
	}
	if field.IsMap() {
		return fmt.Errorf("%s is a map, which text cannot fill", field.FullName())
	}
	doc := make([]byte, 0, 64)
	for _, p := range parts {
		doc = append(doc, '{')
		doc = append(appendString(doc, p), ':')
	}
	if field.IsList() {
		doc = append(doc, '[')
		for i, v := range values {
			if i > 0 {
				doc = append(doc, ',')
			}
			doc = t.appendText(doc, field, v)
		}
		doc = append(doc, ']')
	} else {
		doc = t.appendText(doc, field, values[len(values)-1])
	}
	for range parts {
		doc = append(doc, '}')
	}
	one := t.in.New()
	if err := t.readJSON(doc, one); err != nil {
		return err
	}
	holder, top := one, fieldByName(m.Descriptor(), parts[0])
	way := string(top.Name())
	for i, p := range parts[1:] {
		holder = holder.Get(fieldByName(holder.Descriptor(), parts[i])).Message()
		way += "." + string(fieldByName(holder.Descriptor(), p).Name())
	}
	if given.note(way) {
		return fmt.Errorf("another part of the request gives %s: %w", way, errLoss)
	}
	given.note(string(top.Name()))
	if err := t.keeps.holdsText(holder, field, values...); err != nil {
		return err
	}
	proto.Merge(m.Interface(), one.Interface())
	return nil
}

// appendText writes a text as the JSON from which the field can be read: bools
// and the numbers of enums without words bare, all else as a string.
func (t *Transcoder) appendText(b []byte, f protoreflect.FieldDescriptor, s string) []byte {
	switch f.Kind() {
	case protoreflect.BoolKind:
		if s == "true" || s == "false" {
			return append(b, s...)
		}
	case protoreflect.EnumKind:
		if _, err := strconv.ParseInt(s, 10, 32); err == nil && !t.words.has(f.Enum()) {
			return append(b, s...)
		}
	}
	return appendString(b, s)
}

func fieldByName(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if f := md.Fields().ByName(protoreflect.Name(name)); f != nil {
		return f
	}
	return md.Fields().ByJSONName(name)
}

// wildcard is a place in the path that fills a field.
type wildcard struct {
	name  string
	field string // dotted
	index int    // of its segment, counted after the first slash
	rest  bool   // takes all that follows
}

func wildcards(pattern string, names map[string]string, md protoreflect.MessageDescriptor) []wildcard {
	var out []wildcard
	for i, seg := range strings.Split(strings.TrimPrefix(pattern, "/"), "/") {
		name, ok := strings.CutPrefix(seg, "{")
		if !ok {
			continue
		}
		name, rest := strings.CutSuffix(strings.TrimSuffix(name, "}"), "...")
		field, named := names[name]
		if !named {
			field = name
		}
		if named || fieldByName(md, field) != nil {
			out = append(out, wildcard{name, field, i, rest})
		}
	}
	return out
}

func (w wildcard) value(path string) (string, error) {
	path = strings.TrimPrefix(path, "/")
	for range w.index {
		_, after, ok := strings.Cut(path, "/")
		if !ok {
			return "", fmt.Errorf("there is no segment for {%s}", w.name)
		}
		path = after
	}
	if !w.rest {
		path, _, _ = strings.Cut(path, "/")
	}
	return url.PathUnescape(path)
}
