package infer

import (
	"cmp"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
)

// media is what kind of body a content type announces.
type media uint8

const (
	mediaUnknown media = iota
	mediaJSON
	mediaText
	mediaForm
	mediaOther // binary, multipart, streams
)

// mediaOf reads a content type's value.
func mediaOf(contentType string) media {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && t == "" {
		return mediaUnknown
	}
	switch {
	case t == "application/json", strings.HasSuffix(t, "+json"):
		return mediaJSON
	case t == "application/x-www-form-urlencoded":
		return mediaForm
	case t == "text/event-stream":
		return mediaOther
	case strings.HasPrefix(t, "text/"), t == "application/xml", strings.HasSuffix(t, "+xml"), t == "application/javascript":
		return mediaText
	}
	return mediaOther
}

// contents is what was seen of bodies of one kind: the requests' of an endpoint,
// or its responses' of one status.
type contents struct {
	// responses says that they are responses': a form there is a text.
	responses bool
	n, none   int
	// types counts the content types.
	types tally
	// json counts those that are JSON which a message can carry.
	json  int
	shape shape.Shape
	// unfit counts those that announce JSON and are none, or are such as no
	// message can carry; why is one reason.
	unfit int
	why   string
	form  int
	pairs params
	text  int
	texts pattern.Template
	// binary counts those that are none of these.
	binary int
	// encoded counts those whose encoding cannot be read.
	encoded int
	longest int
}

// see takes one body. The value is the body's where it is JSON, else nil.
func (c *contents) see(h whittle.Header, body []byte, b *shape.Bounds) *document.Value {
	c.n++
	if len(body) == 0 {
		c.none++
		return nil
	}
	contentType := h.Get("Content-Type")
	c.types.add(contentType, 1)
	c.longest = max(c.longest, len(body))
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		c.encoded++
		return nil
	}
	switch m := mediaOf(contentType); {
	case m == mediaOther || !utf8.Valid(body):
		c.binary++
	case m == mediaForm && c.responses:
		c.text++
		c.texts.See(string(body))
	case m == mediaJSON:
		v, err := document.Parse(body)
		if err == nil {
			c.json++
			c.shape.See(v, b, 0)
			return v
		}
		c.unfit++
		c.why = err.Error()
	case m == mediaForm:
		if values, err := url.ParseQuery(string(body)); err == nil && validValues(values) {
			c.form++
			seeValues(&c.pairs, values)
		} else {
			c.unfit++
			c.why = "a form is malformed"
		}
	default:
		c.text++
		c.texts.See(string(body))
	}
	return nil
}

func (c *contents) absorb(o *contents) {
	c.responses = c.responses || o.responses
	c.n += o.n
	c.none += o.none
	c.types.absorb(&o.types)
	c.json += o.json
	c.shape.Absorb(&o.shape)
	c.unfit += o.unfit
	c.why = cmp.Or(o.why, c.why)
	c.form += o.form
	c.pairs.absorb(&o.pairs)
	c.text += o.text
	c.texts.Absorb(&o.texts)
	c.binary += o.binary
	c.encoded += o.encoded
	c.longest = max(c.longest, o.longest)
}

// seeValues takes the pairs of a query or a form. All of them must be UTF-8,
// which a malformed escape may not be.
func seeValues(p *params, values url.Values) {
	for _, name := range sortedNames(values) {
		p.see(name, values[name])
	}
}

// tally counts texts, a few of them.
type tally struct {
	by   map[string]int
	more int
}

const maxTally = 16

func (t *tally) add(s string, n int) {
	if _, known := t.by[s]; !known && (len(t.by) == maxTally || len(s) > 256) {
		t.more += n
		return
	}
	if t.by == nil {
		t.by = map[string]int{}
	}
	t.by[s] += n
}

func (t *tally) absorb(o *tally) {
	t.more += o.more
	for s, n := range o.by {
		t.add(s, n)
	}
}

// most is the text that was seen most often, the first in the alphabet of
// several.
func (t *tally) most() string {
	best, count := "", 0
	for s, n := range t.by {
		if n > count || n == count && s < best {
			best, count = s, n
		}
	}
	return best
}
