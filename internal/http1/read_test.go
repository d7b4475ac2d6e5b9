package http1

import (
	"bytes"
	"fmt"
)

// reading is what a reader made of some bytes.
type reading struct {
	first   string // method and target, or status
	fields  []string
	framing Framing
	body    []byte
	trailer []string
	used    int // bytes of head and body
	partial bool
	err     error
}

func (w reading) String() string {
	return fmt.Sprintf("%s %q %v %q %q used %d partial %v: %v", w.first, w.fields, w.framing, w.body, w.trailer, w.used, w.partial, w.err)
}

// whole reports whether a message was accepted with its whole body.
func (w reading) whole() bool { return w.err == nil && !w.partial }

func lines(f *Fields) (out []string) {
	text := string(f.Raw())
	for i := range f.Len() {
		field := f.Field(i)
		if name, value := f.In(text, i); name != string(field.Name) || value != string(field.Value) {
			panic("In and Field differ")
		}
		out = append(out, string(field.Name)+": "+string(field.Value))
	}
	return out
}

// parsed feeds b to parse in steps, in a buffer of its own each time, so that
// nothing can be kept of an earlier one.
func parsed(b []byte, step int, parse func([]byte) (int, error)) (n int, err error) {
	var buf []byte
	for end := min(step, len(b)); ; end = min(end+step, len(b)) {
		buf = append(bytes.Clone(buf), b[len(buf):end]...)
		if n, err = parse(buf); n > 0 || err != nil || end == len(b) {
			return n, err
		}
	}
}

func readRequest(b []byte, step int, _ Tolerance) (w reading) {
	var h RequestHead
	n, err := parsed(b, step, h.Parse)
	if n == 0 || err != nil {
		w.err, w.partial = err, err == nil
		return w
	}
	w.first = string(h.Method()) + " " + string(h.Target())
	w.fields, w.framing = lines(&h.Fields), h.Framing()
	return w.readBody(b, n, step, 0)
}

func readResponse(b []byte, step int, t Tolerance) (w reading) {
	h := ResponseHead{Tolerance: t}
	n, err := parsed(b, step, h.Parse)
	if n == 0 || err != nil {
		w.err, w.partial = err, err == nil
		return w
	}
	w.first = fmt.Sprint(h.Status(), " ", string(h.Reason()))
	w.fields, w.framing = lines(&h.Fields), h.Framing("GET")
	return w.readBody(b, n, step, t)
}

// readBody feeds the body in steps; what Next leaves unused comes again.
func (w reading) readBody(b []byte, at, step int, t Tolerance) reading {
	body := Body{Tolerance: t}
	body.Begin(w.framing)
	for end := min(at+step, len(b)); !body.Done(); {
		in := bytes.Clone(b[at:end])
		content, n, err := body.Next(in)
		w.body = append(w.body, content...)
		at += n
		if err != nil {
			w.err = err
			return w
		}
		if n > 0 {
			continue
		}
		if end == len(b) {
			break
		}
		end = min(end+step, len(b))
	}
	if body.Done() {
		w.trailer = lines(body.Trailer())
	}
	w.partial = body.End() != nil
	w.used = at
	return w
}
