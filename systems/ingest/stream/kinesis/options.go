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
	maxRecordBytes = 1 << 20
	// hardRecordBytes is what a stream's record size can be raised to.
	hardRecordBytes = 10 << 20
)

// Options say which stream, and how hard it is driven.
type Options struct {
	// Stream is the stream's name or ARN.
	Stream string
	// Region is the AWS region. Empty: as the SDK finds it (AWS_REGION, the
	// shared config).
	Region string
	// Endpoint is the API's URL, for a Kinesis API that is not Amazon's.
	// Empty: as the SDK finds it (AWS_ENDPOINT_URL, else Amazon's).
	Endpoint string
	// AccessKeyID and SecretAccessKey are the credentials. Empty: as the SDK
	// finds them (environment, shared config, the machine's role).
	AccessKeyID, SecretAccessKey string

	// Raw puts a record's bare value onto the stream, in place of an envelope, for consumers
	// that know nothing of package stream. ID, Header, Time and Sum do not survive.
	Raw bool
	// MaxRecord is the stream's record size in bytes, partition key included.
	// 0: 1 MiB. At most 10 MiB.
	MaxRecord int

	// Queue bounds the bytes that wait or are on their way. 0: 64 MiB.
	Queue int
	// Calls is how many calls of PutRecords are in flight at once, each with keys of its
	// own. 0: 4.
	Calls int
	// CallTimeout bounds one call. 0: 5 s.
	CallTimeout time.Duration
	// Budget is how long a record may wait to be sent. 0: 20 s.
	Budget time.Duration
}

func (o *Options) fill() error {
	invalid := func(field, format string, args ...any) error {
		return whittle.Errorf(whittle.Invalid, format, args...).WithField(field)
	}
	o.MaxRecord = cmp.Or(o.MaxRecord, maxRecordBytes)
	o.Queue = cmp.Or(o.Queue, 64<<20)
	o.Calls = cmp.Or(o.Calls, 4)
	o.CallTimeout = cmp.Or(o.CallTimeout, 5*time.Second)
	o.Budget = cmp.Or(o.Budget, 20*time.Second)
	switch {
	case o.Stream == "":
		return invalid("stream", "open kinesis stream: it has no name")
	case o.MaxRecord < 1<<10 || o.MaxRecord > hardRecordBytes:
		return invalid("max_record", "open kinesis stream: a record size of %d bytes is not between 1 KiB and 10 MiB", o.MaxRecord)
	case o.Queue < 0, o.Calls < 0, o.CallTimeout < 0, o.Budget < 0:
		return invalid("", "open kinesis stream: a bound is negative")
	case (o.AccessKeyID == "") != (o.SecretAccessKey == ""):
		return invalid("access_key_id", "open kinesis stream: an access key id and a secret access key come together")
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

// callBytes is what a call may carry: a record size above the usual one makes
// room for one such record.
func (o *Options) callBytes() int { return max(maxCallBytes, o.MaxRecord) }

// name returns the stream as the API takes it: by name or by ARN.
func (o *Options) name() (name, arn *string) {
	if strings.HasPrefix(o.Stream, "arn:") {
		return nil, &o.Stream
	}
	return &o.Stream, nil
}
