package redact

import (
	"strconv"

	"whittle"
)

// Request takes the secrets out of a request. What q points to is replaced, not
// changed: others may hold it too. A body that cannot be redacted is left out,
// and Truncated set.
func (r *Redactor) Request(q *whittle.Request) {
	w := r.begin()
	defer r.end(w)
	if out, changed := w.target([]byte(q.Target)); changed {
		q.Target = string(out)
	}
	q.Header = w.header(q.Header)
	q.Body, q.Truncated, _ = w.body(q.Header, q.Body, q.Truncated)
}

// Response takes the secrets out of a response, as Request does out of a request.
// Why a body was left out is put into Detail.
func (r *Redactor) Response(a *whittle.Response) {
	w := r.begin()
	defer r.end(w)
	a.Header, a.Trailer = w.header(a.Header), w.header(a.Trailer)
	if out, changed := w.inner([]byte(a.Detail), 0); changed {
		a.Detail = string(out)
	}
	var left string
	if a.Body, a.Truncated, left = w.body(a.Header, a.Body, a.Truncated); left != "" && a.Detail == "" {
		a.Detail = "the body was left out: " + left
	}
}

// body redacts a body and makes the header h, which is redacted already, speak
// of what is left of it.
func (w *work) body(h whittle.Header, b []byte, truncated bool) (_ []byte, cut bool, left string) {
	if len(b) == 0 {
		return b, truncated, ""
	}
	if truncated {
		forget(h)
		return nil, true, leftCut
	}
	out, changed, decoded, left := w.content(h, b)
	if left != "" {
		forget(h)
		return nil, true, left
	}
	if !changed {
		return out, false, ""
	}
	if decoded {
		delete(h, "Content-Encoding")
	}
	had := h["Content-Length"] != nil
	forget(h)
	if had {
		h["Content-Length"] = []string{strconv.Itoa(len(out))}
	}
	return out, false, ""
}

// forget drops what a header says of a body that is not there any more. A
// digest would also let a short secret be guessed.
func forget(h whittle.Header) {
	for _, name := range []string{"Content-Length", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest"} {
		delete(h, name)
	}
}
