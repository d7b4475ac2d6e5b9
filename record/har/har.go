// Package har reads HTTP Archives (HAR 1.2), the JSON files of
// exchanges that browsers and proxies save. It reads the exchanges one by one,
// however large the file is, and accepts archives as Chrome, Firefox,
// mitmproxy, Charles and others write them.
//
// The form: http://www.softwareishard.com/blog/har-12-spec/.
package har

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// entry is an exchange of an archive. Members that begin with _ are outside the form,
// as it allows: those of Chrome and of Playwright.
type entry struct {
	Started    text     `json:"startedDateTime"`
	Time       number   `json:"time"`
	Request    request  `json:"request"`
	Response   response `json:"response"`
	Timings    timings  `json:"timings"`
	Connection text     `json:"connection,omitempty"`

	FromCache    text `json:"_fromCache,omitempty"`    // Chrome: "disk", "memory"
	ResourceType text `json:"_resourceType,omitempty"` // Chrome: "websocket"
}

type request struct {
	Method   text    `json:"method"`
	URL      text    `json:"url"`
	Headers  list    `json:"headers"`
	Post     *posted `json:"postData,omitempty"`
	BodySize number  `json:"bodySize"`
}

type posted struct {
	MimeType text `json:"mimeType"`
	Text     text `json:"text"`
	Encoding text `json:"encoding,omitempty"` // "base64", as in content
	Params   list `json:"params,omitempty"`
	File     text `json:"_file,omitempty"` // Playwright: the body is in a file of its own
}

type response struct {
	Status   number  `json:"status"`
	Headers  list    `json:"headers"`
	Content  content `json:"content"`
	BodySize number  `json:"bodySize"`

	Error     text `json:"_error,omitempty"`       // Chrome: "net::ERR_ABORTED"
	ErrorText text `json:"_failureText,omitempty"` // Playwright: the same
}

type content struct {
	Size     number `json:"size"`
	MimeType text   `json:"mimeType"`
	// Text is nil where the body was not saved.
	Text     *text `json:"text,omitempty"`
	Encoding text  `json:"encoding,omitempty"` // "base64"
	File     text  `json:"_file,omitempty"`    // Playwright: the body is in a file of its own
}

type timings struct {
	Send    number `json:"send"`
	Wait    number `json:"wait"`
	Receive number `json:"receive"`
}

type pair struct {
	Name  text `json:"name"`
	Value text `json:"value"`
}

// list is an array of pairs. Internet Explorer writes one that has a single pair
// as that pair.
type list []pair

// UnmarshalJSON takes an array, or an object with a name.
func (l *list) UnmarshalJSON(b []byte) error {
	var one pair
	if b[0] == '{' && json.Unmarshal(b, &one) == nil && one.Name != "" {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(b, (*[]pair)(l))
}

// text is a JSON string, where programs also write null or a number.
type text string

// UnmarshalJSON takes any scalar.
func (t *text) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, (*string)(t))
	case bytes.Equal(b, []byte("null")), len(b) > 0 && (b[0] == '{' || b[0] == '['):
		*t = ""
	default:
		*t = text(b)
	}
	return nil
}

// number is a JSON number, where programs also write null or a string. What is
// no number is -1, which the form has for "not known".
type number float64

// UnmarshalJSON takes any scalar.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = -1
	if v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*n = number(v)
	}
	return nil
}
