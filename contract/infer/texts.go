package infer

import (
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	maxWords     = 32 // that are counted
	mostWords    = 16 // that a set has which is listed
	maxWordBytes = 32
)

// format is what a string may be besides a string.
type format uint8

const (
	formatTime format = iota
	formatDate
	formatUUID
	formatInteger
	formatDecimal
	formatEmail
	formatURL
	formatRedacted
	formats
)

var formatNames = [formats]string{
	"an RFC 3339 time", "a date (yyyy-mm-dd)", "a UUID", "an integer as text", "a decimal as text", "an e-mail address", "a URL", "redacted",
}

var formatTests = [formats]func(string) bool{
	isTime, isDate, isUUID, isInteger, isDecimal, isEmail, isURL, isRedacted,
}

// texts is what was seen of the strings at one place. It keeps no string but a
// few short words.
type texts struct {
	n int
	// is counts those of each format. A format that a string does not have is
	// not tried again.
	is               [formats]int
	shortest, longer int
	// words counts the distinct short words; nil, and many, when there were too
	// many or one was no word.
	words map[string]int
	many  bool
}

// see takes one string.
func (s *texts) see(t string) {
	for f := range s.is {
		if s.is[f] == s.n && formatTests[f](t) {
			s.is[f]++
		}
	}
	if s.n == 0 || len(t) < s.shortest {
		s.shortest = len(t)
	}
	s.longer = max(s.longer, len(t))
	s.n++
	s.word(t, 1)
}

func (s *texts) word(t string, n int) {
	if s.many {
		return
	}
	if s.words == nil {
		s.words = map[string]int{}
	}
	if _, known := s.words[t]; !known && (!isWord(t) || len(s.words) == maxWords) {
		s.words, s.many = nil, true
		return
	}
	s.words[t] += n
}

func (s *texts) absorb(o *texts) {
	if o.n == 0 {
		return
	}
	for f := range s.is {
		if s.is[f] == s.n && o.is[f] == o.n {
			s.is[f] += o.is[f]
		}
	}
	if s.n == 0 || o.shortest < s.shortest {
		s.shortest = o.shortest
	}
	s.longer = max(s.longer, o.longer)
	s.n += o.n
	if o.many {
		s.words, s.many = nil, true
	}
	for w, n := range o.words {
		s.word(w, n)
	}
}

// format is the one that all of them have, formats where there is none.
func (s *texts) format() format {
	for f := range s.is {
		if s.n > 0 && s.is[f] == s.n {
			return format(f)
		}
	}
	return formats
}

// once counts the words that were seen a single time.
func (s *texts) once() int {
	n := 0
	for _, c := range s.words {
		if c == 1 {
			n++
		}
	}
	return n
}

// isWord says that a text could be one of a set of words: letters first, then
// letters, digits, _ and -.
func isWord(t string) bool {
	if t == "" || len(t) > maxWordBytes {
		return false
	}
	for i := range len(t) {
		c := t[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

func isTime(t string) bool {
	if len(t) < len("2006-01-02T15:04:05Z") || len(t) > 40 {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, t)
	return err == nil
}

func isDate(t string) bool {
	if len(t) != len(time.DateOnly) {
		return false
	}
	_, err := time.Parse(time.DateOnly, t)
	return err == nil
}

func isUUID(t string) bool {
	if len(t) != 36 {
		return false
	}
	for i := range len(t) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if t[i] != '-' {
				return false
			}
		} else if !isHex(t[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isDigits(t string) bool {
	for i := range len(t) {
		if t[i] < '0' || t[i] > '9' {
			return false
		}
	}
	return t != ""
}

func isInteger(t string) bool { return len(t) <= 40 && isDigits(strings.TrimPrefix(t, "-")) }

func isDecimal(t string) bool {
	whole, fraction, ok := strings.Cut(strings.TrimPrefix(t, "-"), ".")
	return ok && len(t) <= 80 && isDigits(whole) && isDigits(fraction)
}

func isEmail(t string) bool {
	if len(t) > 254 || !strings.Contains(t, "@") {
		return false
	}
	a, err := mail.ParseAddress(t)
	return err == nil && a.Address == t
}

// isRedacted knows the token that a recording has in a secret's place.
func isRedacted(t string) bool {
	digits, ok := strings.CutPrefix(t, "redacted-")
	return ok && len(digits) == 12
}

func isURL(t string) bool {
	if len(t) > 2048 || !strings.HasPrefix(t, "http://") && !strings.HasPrefix(t, "https://") {
		return false
	}
	u, err := url.Parse(t)
	return err == nil && u.Host != ""
}

// plainInt reads an integer that would be written again in the same way: no
// leading zeros, no plus sign, not −0, within int64.
func plainInt(t string) (int64, bool) {
	if t == "" || len(t) > 20 || !isInteger(t) {
		return 0, false
	}
	i, err := strconv.ParseInt(t, 10, 64)
	return i, err == nil && strconv.FormatInt(i, 10) == t
}
