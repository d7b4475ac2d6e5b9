package forward

import (
	"io"
	"net/http"
)

// Observer is a ResponseWriter that shows a response as it goes by.
type Observer struct {
	http.ResponseWriter
	// Head is called once, just before the final response's head is written; it may change
	// the header. Nil: nobody is told.
	Head func(status int)
	// Body gets the body, as far as it was written. Nil: nobody does.
	Body func(p []byte)

	begun bool
}

func (o *Observer) begin(status int) {
	if !o.begun && status >= http.StatusOK {
		if o.begun = true; o.Head != nil {
			o.Head(status)
		}
	}
}

// WriteHeader implements http.ResponseWriter.
func (o *Observer) WriteHeader(status int) {
	o.begin(status)
	o.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (o *Observer) Write(p []byte) (int, error) {
	o.begin(http.StatusOK)
	n, err := o.ResponseWriter.Write(p)
	if o.Body != nil && n > 0 {
		o.Body(p[:n])
	}
	return n, err
}

// Flush implements http.Flusher.
func (o *Observer) Flush() {
	if f, ok := o.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for http.ResponseController.
func (o *Observer) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Observed is a request's body that is shown as it is read.
type Observed struct {
	io.ReadCloser
	// See is called after each read, with what was read and the error.
	See func(p []byte, err error)
}

// Read implements io.Reader.
func (o *Observed) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.See(p[:n], err)
	return n, err
}
