package server

import (
	"errors"

	"connectrpc.com/connect"
	"github.com/twitchtv/twirp"

	"whittle"
)

// words is the message for a client where a coded error has none of its
// own: its cause is for the log.
var words = map[whittle.Code]string{
	whittle.Canceled:         "the request was cancelled",
	whittle.DeadlineExceeded: "the time allowed for the request ran out",
	whittle.Unavailable:      "the service is closing down",
}

// public returns what a client may know of err.
func public(err error) (whittle.Code, string) { return whittle.Public(err, words) }

// twirpError translates for Twirp, whose names of codes are whittle's.
func twirpError(err error) twirp.Error {
	code, text := public(err)
	return twirp.NewError(twirp.ErrorCode(code.String()), text)
}

// connectError translates for Connect, gRPC and gRPC-Web.
func connectError(err error) *connect.Error {
	code, text := public(err)
	var c connect.Code
	if c.UnmarshalText([]byte(code.String())) != nil {
		c = connect.CodeInternal
	}
	return connect.NewError(c, errors.New(text))
}
