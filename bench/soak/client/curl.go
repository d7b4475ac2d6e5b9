package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"

	"whittle/bench/soak/plan"
)

// Curl is curl, a process for each request.
type Curl struct {
	// URL is scheme and address, Version an option such as --http2, CA a file.
	URL, Name, Version, CA string

	last Tape
}

// Tape is what it was given and what it wrote.
func (u *Curl) Tape() Tape { return u.last }

// Close does nothing: a process has ended with its request.
func (u *Curl) Close() {}

// Ask is User's.
func (u *Curl) Ask(ctx context.Context, plans []*plan.Plan) []Outcome {
	return oneByOne(ctx, plans, u.ask)
}

func (u *Curl) ask(ctx context.Context, p *plan.Plan) Outcome {
	if u.Version != "--http1.1" && p.Trailer { // it writes them behind the body
		q := *p
		q.Trailer = false
		p = &q
	}
	args := []string{"-sSi", "--raw", u.Version, "--max-time", strconv.Itoa(int(patience.Seconds())), u.URL + p.Path(), "-H", "Host: soak.example", "-H", "Content-Type:"}
	if u.CA != "" {
		args = append(args, "--cacert", u.CA)
	}
	for _, f := range headers(p, u.Name) {
		args = append(args, "-H", f[0]+": "+f[1])
	}
	if p.Way == plan.Head {
		args = append(args, "-I")
	}
	if p.Upload > 0 {
		args = append(args, "--data-binary", "@-")
	}
	if p.Way == plan.Chunked && u.Version == "--http1.1" {
		args = append(args, "-H", "Transfer-Encoding: chunked")
	}
	cmd := exec.CommandContext(ctx, "curl", args...) //nolint:gosec // arguments of our own making
	body := p.Request()
	var got, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = body.Reader(), &got, &said
	err := cmd.Run()
	text := bytes.ReplaceAll(got.Bytes(), []byte("HTTP/2 "), []byte("HTTP/1.1 "))
	u.last = Tape{Sent: cmd.String(), Received: string(text[:min(len(text), taped)]), SentBytes: int64(p.Upload), ReceivedBytes: int64(got.Len())}
	if err != nil {
		out := broken(errors.New(err.Error() + " " + said.String()))
		out.Uncertain = got.Len() == 0
		return out
	}
	read := HTTP1{r: bufio.NewReader(bytes.NewReader(text))}
	return read.receive(p, func() {})
}
