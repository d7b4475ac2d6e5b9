package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twitchtv/twirp"
	"google.golang.org/protobuf/proto"

	"whittle/systems/count/rpc"
)

const (
	typeJSON  = "application/json"
	typeProto = "application/protobuf"
)

// newTwirp returns the Twirp edge. The generated server is only ever spoken to
// in protobuf: it has no bound on bodies, no hook for its JSON and one vague
// message for every body that it cannot read, so those are done around it.
func newTwirp(s *service, m *metrics, maxBody int64) http.Handler {
	translate := func(next twirp.Method) twirp.Method {
		return func(ctx context.Context, in any) (any, error) {
			begun := time.Now()
			out, err := next(ctx, in)
			m.observe("twirp", begun, err)
			if err != nil {
				return nil, twirpError(err)
			}
			return out, nil
		}
	}
	return &twirpEdge{rpc.NewCarvedServer(s, twirp.WithServerInterceptors(translate)), maxBody}
}

type twirpEdge struct {
	generated http.Handler
	maxBody   int64
}

func (e *twirpEdge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || media != typeJSON && media != typeProto {
		e.generated.ServeHTTP(w, r) // which knows how to refuse it
		return
	}
	call, refused := e.decode(w, r, media)
	if refused != nil {
		// Only the connection can fail here, and then the client is gone.
		_ = twirp.WriteError(w, refused)
		return
	}
	if media == typeProto {
		e.generated.ServeHTTP(w, call)
		return
	}
	a := &heldResponse{header: w.Header(), status: http.StatusOK}
	e.generated.ServeHTTP(a, call)
	a.release(w)
}

// decode reads the body and gives the request as protobuf.
func (e *twirpEdge) decode(w http.ResponseWriter, r *http.Request, media string) (*http.Request, twirp.Error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, twirp.NewErrorf(twirp.ResourceExhausted, "the body is larger than %d bytes", e.maxBody)
	}
	if err != nil {
		return nil, twirp.NewError(twirp.Malformed, "the body broke off")
	}
	var in rpc.Times
	if media == typeJSON {
		err = plainJSON("").Unmarshal(body, &in)
	} else {
		err = proto.Unmarshal(body, &in)
	}
	if err != nil {
		return nil, twirp.NewErrorf(twirp.InvalidArgument, "the body is not a Times message: %s", clip(err.Error()))
	}
	wire, err := proto.Marshal(&in)
	if err != nil {
		return nil, twirp.InternalError("internal error")
	}
	call := r.Clone(r.Context())
	call.Body, call.ContentLength = io.NopCloser(bytes.NewReader(wire)), int64(len(wire))
	call.Header.Set("Content-Type", typeProto)
	return call, nil
}

// clip bounds how much of a client's own input comes back in a message.
func clip(s string) string {
	const most = 160
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// heldResponse keeps the generated server's response back until it can be said in
// JSON. It holds one Sum, or one error in JSON already.
type heldResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *heldResponse) Header() http.Header         { return a.header }
func (a *heldResponse) WriteHeader(status int)      { a.status = status }
func (a *heldResponse) Write(p []byte) (int, error) { return a.body.Write(p) }

func (a *heldResponse) release(w http.ResponseWriter) {
	text := a.body.Bytes()
	if a.status == http.StatusOK {
		var sum rpc.Sum
		err := proto.Unmarshal(text, &sum)
		if err == nil {
			text, err = plainJSON("").Marshal(&sum)
		}
		if err != nil {
			_ = twirp.WriteError(w, twirp.InternalError("internal error"))
			return
		}
		w.Header().Set("Content-Type", typeJSON)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // fails only for a client that is gone
}
