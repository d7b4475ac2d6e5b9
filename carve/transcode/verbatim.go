package transcode

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"whittle"
	"whittle/internal/http1"
)

// maxVerbatim bounds the body of a response that an error carries, and maxMedia
// its content type, in bytes.
const (
	maxVerbatim = 1 << 20
	maxMedia    = 256
)

// detailType is the type of the detail by which Connect and gRPC carry a
// response. It is well known, so that no contract needs a message for it.
const detailType = "google.protobuf.Struct"

// verbatim is the HTTP response that an RPC error carries.
type verbatim struct {
	status      int
	contentType string
	body        []byte
}

// newVerbatim reads the members by get. Nil: there is no such response, or it is
// not one that could be sent.
func newVerbatim(get func(name string) string) *verbatim {
	code, err := strconv.Atoi(get("http_status"))
	if err != nil || code < 200 || code > 599 {
		return nil
	}
	v := &verbatim{code, get("http_content_type"), []byte(get("http_body"))}
	if text := get("http_body_base64"); text != "" && len(v.body) == 0 {
		if len(text) > base64.StdEncoding.EncodedLen(maxVerbatim) {
			return nil
		}
		if v.body, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil
		}
	}
	if len(v.body) > maxVerbatim || len(v.contentType) > maxMedia || !http1.IsValue(v.contentType) || strings.TrimSpace(v.contentType) != v.contentType {
		return nil
	}
	if (code == 204 || code == 304) && len(v.body) > 0 {
		return nil // HTTP has no body there
	}
	return v
}

// detail is one of Connect's error details; its value is a message in base64,
// with padding or without.
type detail struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// carried finds the response in an error's JSON: in the metadata of Twirp's, in a
// detail of Connect's.
func carried(body []byte) *verbatim {
	var e struct {
		Meta    map[string]string `json:"meta"`
		Details []detail          `json:"details"`
	}
	if json.Unmarshal(body, &e) != nil {
		return nil
	}
	if v := newVerbatim(func(name string) string { return e.Meta[name] }); v != nil {
		return v
	}
	for _, d := range e.Details {
		if d.Type != detailType {
			continue
		}
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(d.Value, "="))
		if err != nil {
			continue
		}
		if v := fromStruct(b); v != nil {
			return v
		}
	}
	return nil
}

// fromStruct reads the response out of a google.protobuf.Struct.
func fromStruct(b []byte) *verbatim {
	var s structpb.Struct
	if unmarshal(b, s.ProtoReflect()) != nil {
		return nil
	}
	return newVerbatim(func(name string) string {
		switch v := s.GetFields()[name].GetKind().(type) {
		case *structpb.Value_StringValue:
			return v.StringValue
		case *structpb.Value_NumberValue:
			return strconv.FormatFloat(v.NumberValue, 'f', -1, 64)
		}
		return ""
	})
}

// inTrailer finds the response among the details of the google.rpc.Status that gRPC's
// grpc-status-details-bin holds in base64.
func inTrailer(h whittle.Header) *verbatim {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(h.Get("Grpc-Status-Details-Bin"), "="))
	var s status.Status
	if err != nil || unmarshal(b, s.ProtoReflect()) != nil {
		return nil
	}
	for _, d := range s.GetDetails() {
		if d.MessageName() != detailType {
			continue
		}
		if v := fromStruct(d.GetValue()); v != nil {
			return v
		}
	}
	return nil
}
