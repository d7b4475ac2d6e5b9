package kinesis

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"whittle"
)

// Kinesis' limits of a call and a record, as they are unless an account asks
// for more.
const (
	maxCallRecords = 500
	maxCallBytes   = 5 << 20
	maxRecordBytes = 1 << 20 // partition key included
)

const (
	queueBytes = 64 << 20 // that wait or are on their way
	// calls is how many calls of PutRecords are in flight at once, each with keys of its own.
	calls = 4
)

// Options say which stream. The credentials are as the SDK finds them (environment, shared
// config, the machine's role).
type Options struct {
	// Stream is the stream's name or ARN.
	Stream string
	// Region is the AWS region. Empty: as the SDK finds it (AWS_REGION, the
	// shared config).
	Region string
	// Endpoint is the API's URL, for a Kinesis API that is not Amazon's.
	// Empty: as the SDK finds it (AWS_ENDPOINT_URL, else Amazon's).
	Endpoint string
	// Raw puts a record's bare value onto the stream, in place of an envelope, for consumers
	// that know nothing of package stream. ID, Header, Time and Sum do not survive.
	Raw bool
	// CallTimeout bounds one call. 0: 5 s.
	CallTimeout time.Duration
	// Budget is how long a record is tried. 0: 20 s.
	Budget time.Duration
}

func (o *Options) fill() error {
	invalid := func(field, format string, args ...any) error {
		return whittle.Errorf(whittle.Invalid, format, args...).WithField(field)
	}
	o.CallTimeout = cmp.Or(o.CallTimeout, 5*time.Second)
	o.Budget = cmp.Or(o.Budget, 20*time.Second)
	switch {
	case o.Stream == "":
		return invalid("stream", "open kinesis stream: it has no name")
	case o.CallTimeout < 0, o.Budget < 0:
		return invalid("", "open kinesis stream: a bound is negative")
	}
	if o.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return invalid("endpoint", "open kinesis stream: endpoint %q is no http or https URL", o.Endpoint)
	}
	return nil
}

// name returns the stream as the API takes it: by name or by ARN.
func (o *Options) name() (name, arn *string) {
	if strings.HasPrefix(o.Stream, "arn:") {
		return nil, &o.Stream
	}
	return &o.Stream, nil
}
