package server

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"whittle/systems/count/rpc"
)

// plainJSON is the JSON that clients of today read: a sum is a number, and is
// there even if it is 0. The proto3 mapping would write an int64 as a string
// and leave a 0 out. No digit is lost, since no sum is above 100·(2^31−1),
// which is below 2^53.
//
// It is a connect.Codec under the name it holds.
type plainJSON string

func (c plainJSON) Name() string { return string(c) }

func (plainJSON) Marshal(m any) ([]byte, error) {
	switch m := m.(type) {
	case *rpc.Sum:
		return append(strconv.AppendInt([]byte(`{"Sum":`), m.GetSum(), 10), '}'), nil
	case proto.Message:
		return protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(m)
	}
	return nil, fmt.Errorf("encode json: %T is not a message", m)
}

// Unmarshal takes what the proto3 mapping takes and passes over fields that it
// does not know, as Twirp and Connect do by themselves.
func (plainJSON) Unmarshal(text []byte, m any) error {
	message, ok := m.(proto.Message)
	if !ok {
		return fmt.Errorf("decode json: %T is not a message", m)
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, message)
}
