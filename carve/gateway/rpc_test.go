package gateway

import (
	"errors"
	"strings"

	"whittle"
)

// shouting is a transcoder whose RPC is upper case; it has no word for "bad".
type shouting struct{}

func (shouting) Request(r *whittle.Request) (*whittle.Request, error) {
	if strings.Contains(string(r.Body), "bad") {
		return nil, errors.New("no such word")
	}
	return &whittle.Request{
		Method: "POST", Target: "/rpc", Host: r.Host, Header: whittle.Header{"Content-Type": {"application/rpc"}},
		Body: []byte(strings.ToUpper(string(r.Body))),
	}, nil
}

func (shouting) Response(a *whittle.Response) whittle.Response {
	if string(a.Body) == "" {
		return whittle.Response{Failure: whittle.FailedMalform, Detail: "an empty message"}
	}
	return whittle.Response{Status: a.Status, Header: whittle.Header{"Content-Type": {"text/plain"}}, Body: []byte(strings.ToLower(string(a.Body)))}
}
