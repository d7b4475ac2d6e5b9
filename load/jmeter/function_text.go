package jmeter

import (
	"crypto/md5"  //nolint:gosec // plans compute it
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
)

// ofText compiles calls of what computes a text of another.
func ofText(of func(string) string) func(*reader, *functionCall) expr.Expression {
	return func(j *reader, c *functionCall) expr.Expression {
		return j.foldable(c.args, "", func(s *expr.Scope) expr.Value { return expr.TextValue(of(c.first(s))) })
	}
}

// texts renders a call's arguments.
func (c *functionCall) texts(s *expr.Scope) []string {
	out := make([]string, len(c.args))
	for i, a := range c.args {
		out[i] = a.Text(s)
	}
	return out
}

func argument(a []string, i int) string {
	if i < len(a) {
		return a[i]
	}
	return ""
}

// digest is __digest. JMeter makes nothing of an algorithm that Java has not.
func (j *reader) digest(c *functionCall) expr.Expression {
	if name, fixed := c.args[0].Constant(); fixed && hashes[strings.ToUpper(strings.TrimSpace(name))] == nil {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the digest %s is not supported", c.raw, name))
	}
	return j.foldable(c.args, c.fixed(4, ""), func(s *expr.Scope) expr.Value {
		a, out := c.texts(s), ""
		if of := hashes[strings.ToUpper(strings.TrimSpace(a[0]))]; of != nil {
			h := of()
			h.Write([]byte(a[1] + argument(a, 2)))
			out = hex.EncodeToString(h.Sum(nil))
		}
		if strings.EqualFold(strings.TrimSpace(argument(a, 3)), "true") {
			out = strings.ToUpper(out)
		}
		return expr.TextValue(out)
	})
}

// hashes are the digests by Java's names.
var hashes = map[string]func() hash.Hash{
	"MD5": md5.New, "SHA": sha1.New, "SHA1": sha1.New, "SHA-1": sha1.New, "SHA-224": sha256.New224, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
}

// variableByName is __V: a variable whose name is computed.
func variableByName(j *reader, c *functionCall) expr.Expression {
	return computed(func(s *expr.Scope) string {
		a := c.texts(s)
		if text, ok := j.value(s, a[0]); ok {
			return text
		}
		return a[len(a)-1] // the default or, without one, the name
	})
}

func (j *reader) evaluate(c *functionCall) expr.Expression {
	return computed(func(s *expr.Scope) string { return j.expand(s, c.first(s)) })
}

func (j *reader) setPropertyCall(c *functionCall) expr.Expression {
	return computed(func(s *expr.Scope) string {
		a := c.texts(s)
		_, had := j.propertyValue(s, strings.TrimSpace(a[0]))
		before := j.setProperty(s, strings.TrimSpace(a[0]), strings.TrimSpace(a[1]))
		switch {
		case !strings.EqualFold(strings.TrimSpace(argument(a, 2)), "true"):
			return ""
		case !had:
			return "null" // as Java writes what is none
		}
		return before
	})
}

// fileToString is __FileToString.
func (j *reader) fileToString(c *functionCall) expr.Expression {
	value := expr.TextValue(string(j.OpenFile(c.at, c.fixed(0, ""))))
	return expr.Expression{Eval: j.storeResult(c.fixed(2, ""), func(*expr.Scope) expr.Value { return value })}
}

// period is a time span of ISO 8601, as Java's Duration takes it.
var period = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?\d+)D)?(?:T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+(?:\.\d+)?)S)?)?$`)

func parsePeriod(text string) (time.Duration, bool) {
	m := period.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, strings.TrimSpace(text) == ""
	}
	var sum float64
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if n, err := strconv.ParseFloat(m[2+i], 64); err == nil {
			sum += n * float64(unit)
		}
	}
	if m[1] == "-" {
		sum = -sum
	}
	if math.Abs(sum) > math.MaxInt64/2 {
		return 0, false
	}
	return time.Duration(sum), true
}

// instead says what to write in place of a year of weeks, which is seldom meant.
func instead(pattern string) string {
	if strings.Contains(pattern, "Y") {
		return ": write yyyy for the year"
	}
	return ""
}

// timeShift is __timeShift of the time as it is.
func (j *reader) timeShift(c *functionCall) expr.Expression {
	j.counts()
	pattern := c.fixed(0, "")
	write, known := Dated(pattern)
	if !known {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the date format %q is not supported%s", c.raw, pattern, instead(pattern)))
	}
	return j.stored(c.fixed(len(c.args)-1, ""), func(s *expr.Scope) string {
		at := clock(s)
		by, _ := parsePeriod(argument(c.texts(s), 2))
		to := at.Add(by)
		_, before := at.Zone()
		if _, now := to.Zone(); now != before {
			c.fails(j, "summer time begins or ends within the shift: run with TZ=UTC")
			return ""
		}
		return write(to)
	})
}
