package jmeter

import (
	"cmp"
	"crypto/md5"  //nolint:gosec // plans compute it
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"html"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"whittle"
	"whittle/load/expr"
)

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// entities are the names that HTML 4 has for characters.
const entities = `amp lt gt quot nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot
	cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH
	Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave
	eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml fnof Alpha
	Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau Upsilon Phi Chi Psi Omega alpha beta gamma delta epsilon zeta
	eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi omega thetasym upsih piv bull hellip prime Prime oline frasl
	weierp image real trade alefsym larr uarr rarr darr harr crarr lArr uArr rArr dArr hArr forall part exist empty nabla isin notin ni prod sum minus lowast
	radic prop infin ang and or cap cup int there4 sim cong asymp ne equiv le ge sub sup nsub sube supe oplus otimes perp sdot lceil rceil lfloor rfloor loz
	spades clubs hearts diams OElig oelig Scaron scaron Yuml circ tilde ensp emsp thinsp zwnj zwj lrm rlm ndash mdash lsquo rsquo sbquo ldquo rdquo bdquo
	dagger Dagger permil lsaquo rsaquo euro`

// escapeHTML writes characters by their names in HTML 4.
var escapeHTML = sync.OnceValue(func() func(string) string {
	var pairs []string
	for _, name := range strings.Fields(entities) {
		pairs = append(pairs, html.UnescapeString("&"+name+";"), "&"+name+";")
	}
	return strings.NewReplacer(pairs...).Replace
})

// escapedJava is an escape in a text of Java.
var escapedJava = regexp.MustCompile(`\\(?:u+\+?([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.)|$)`)

// unescapeJava reads the escapes of Java.
func unescapeJava(text string) string {
	return escapedJava.ReplaceAllStringFunc(text, func(escape string) string {
		m := escapedJava.FindStringSubmatch(escape)
		code, err := strconv.ParseUint(m[1], 16, 16)
		if m[2] != "" {
			code, err = strconv.ParseUint(m[2], 8, 16)
		}
		if err == nil {
			return string(rune(code))
		}
		if i := strings.IndexByte("bntfr", (m[3] + " ")[0]); i >= 0 {
			return "\b\n\t\f\r"[i : i+1]
		}
		return m[3]
	})
}

// noVariable is the place of the argument that names a variable, where none does.
const noVariable = -1

// ofTexts compiles calls of what computes a text of its arguments' texts. variable is the
// argument that names a variable for the result.
func ofTexts(variable int, of func(args []string) string) func(*reader, *functionCall) expr.Expression {
	return func(j *reader, c *functionCall) expr.Expression {
		name := ""
		if variable != noVariable {
			name = c.fixed(variable, "")
		}
		return j.foldable(c.args, name, func(s *expr.Scope) expr.Value { return expr.TextValue(of(c.texts(s))) })
	}
}

func decodeURL(a []string) string {
	plain, err := url.QueryUnescape(a[0])
	if err != nil {
		return a[0]
	}
	return plain
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

func changeCase(a []string) string {
	switch strings.ToUpper(argument(a, 1)) {
	case "", "UPPER":
		return strings.ToUpper(a[0])
	case "LOWER":
		return strings.ToLower(a[0])
	case "CAPITALIZE":
		r := []rune(a[0])
		if len(r) > 0 {
			r[0] = unicode.ToUpper(r[0])
		}
		return string(r)
	}
	return a[0]
}

func charsOf(a []string) string {
	var b strings.Builder
	for _, text := range a {
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 32); err == nil {
			b.WriteRune(rune(n))
		}
	}
	return b.String()
}

// digest is __digest. JMeter makes nothing of an algorithm that Java has not.
func (j *reader) digest(c *functionCall) expr.Expression {
	if name, fixed := c.args[0].Constant(); fixed && hashes[strings.ToUpper(strings.TrimSpace(name))] == nil {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the digest %s is not supported", c.raw, name))
	}
	return ofTexts(4, func(a []string) string {
		out := digestOf(strings.TrimSpace(a[0]), a[1]+argument(a, 2))
		if strings.EqualFold(strings.TrimSpace(argument(a, 3)), "true") {
			return strings.ToUpper(out)
		}
		return out
	})(j, c)
}

// hashes are the digests by Java's names.
var hashes = map[string]func() hash.Hash{
	"MD5": md5.New, "SHA": sha1.New, "SHA1": sha1.New, "SHA-1": sha1.New, "SHA-224": sha256.New224, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New,
}

// digestOf is a text's digest by an algorithm, by base 16; empty: there is none of that name.
func digestOf(algorithm, text string) string {
	of := hashes[strings.ToUpper(algorithm)]
	if of == nil {
		return ""
	}
	h := of()
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

func base64Plain(a []string) string {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(a[0]))
	if err != nil {
		return ""
	}
	return string(b)
}

func substring(a []string) string {
	r := []rune(a[0])
	from, _ := strconv.Atoi(strings.TrimSpace(a[1]))
	to, _ := strconv.Atoi(strings.TrimSpace(a[2]))
	from, to = min(max(from, 0), len(r)), min(max(to, 0), len(r))
	return string(r[from:max(from, to)])
}

func chosen(a []string) string {
	if a[0] == a[1] {
		return a[2]
	}
	return a[3]
}

// nameKey is where the name of a user's present sampler is kept, or of its last.
type nameKey struct{}

// presentSampler is __samplerName.
func (j *reader) presentSampler(c *functionCall) expr.Expression {
	return j.stored(c, 0, func(s *expr.Scope) string {
		if s.User == nil {
			return ""
		}
		return *userState[string](s.User, nameKey{})
	})
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

func (j *reader) evaluateVariable(c *functionCall) expr.Expression {
	return computed(func(s *expr.Scope) string {
		text, _ := j.value(s, c.first(s))
		return j.expand(s, text)
	})
}

func isDefined(c *functionCall, of func(*expr.Scope, string) (string, bool)) expr.Expression {
	return computed(func(s *expr.Scope) string {
		_, ok := of(s, c.first(s))
		return strconv.FormatBool(ok)
	})
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

// split fills name, name_n and name_1, name_2 … with the pieces of a text.
func (j *reader) split(c *functionCall) expr.Expression {
	name := c.fixed(1, "")
	j.runtime[name], j.listed[name] = true, true
	j.Define(name)
	return computed(func(s *expr.Scope) string {
		a := c.texts(s)
		pieces := strings.Split(a[0], cmp.Or(argument(a, 2), ","))
		pieces = pieces[:min(len(pieces), expr.MaxMatches)]
		for i, p := range pieces {
			j.assign(s, listed(name, i+1), cmp.Or(p, "?"))
		}
		j.remove(s, listed(name, len(pieces)+1))
		j.assign(s, name+"_n", strconv.Itoa(len(pieces)))
		j.assign(s, name, a[0])
		return a[0]
	})
}

// fileToString is __FileToString. A file whose name varies is read during the run; of one
// that cannot be read JMeter makes **ERR**.
func (j *reader) fileToString(c *functionCall) expr.Expression {
	if name, ok := c.args[0].Constant(); ok {
		value := expr.TextValue(string(j.openFile(c.at, strings.TrimSpace(name))))
		return expr.Expression{Eval: j.storeResult(c.fixed(2, ""), func(*expr.Scope) expr.Value { return value })}
	}
	return j.stored(c, 2, func(s *expr.Scope) string {
		if text, ok := j.fileDuringRun(strings.TrimSpace(c.first(s))); ok {
			return text
		}
		return "**ERR**"
	})
}

// lineOfFile deals the lines of a file to all users in turn, each call by itself.
func (j *reader) lineOfFile(c *functionCall) expr.Expression {
	if c.fixed(2, "") != "" {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: files of several numbers are not supported", c.raw))
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(j.openFile(c.at, c.fixed(0, ""))), "\r\n", "\n"), "\n"), "\n")
	return j.stored(c, 1, func(s *expr.Scope) string { return lines[(countAll(s.User, c)-1)%int64(len(lines))] })
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

// dateFormat compiles a pattern of dates, or refuses it.
func (j *reader) dateFormat(c *functionCall, pattern string, reads bool) (write func(time.Time) string, layout string) {
	layout, ok := Layout(pattern)
	write, known := Dated(pattern)
	if reads && !ok || !known {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the date format %q is not supported", c.raw, pattern))
	}
	return write, layout
}

func (j *reader) timeShift(c *functionCall) expr.Expression {
	write, layout := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }, ""
	if pattern := c.fixed(0, ""); pattern != "" {
		text, fixed := c.args[1].Constant()
		write, layout = j.dateFormat(c, pattern, !fixed || strings.TrimSpace(text) != "")
	}
	return j.stored(c, 4, func(s *expr.Scope) string {
		a := c.texts(s)
		at := clock(s)
		if from := strings.TrimSpace(argument(a, 1)); from != "" {
			if t, err := time.ParseInLocation(layout, from, time.Local); err == nil && layout != "" {
				at = t
			} else if ms, err := strconv.ParseInt(from, 10, 64); err == nil {
				at = time.UnixMilli(ms)
			} // else it is now, as in JMeter
		}
		by, _ := parsePeriod(argument(a, 2))
		if days := by / (24 * time.Hour); by%(24*time.Hour) == 0 {
			return write(at.AddDate(0, 0, int(days)))
		}
		return write(at.Add(by))
	})
}

func (j *reader) convertTime(c *functionCall) expr.Expression {
	_, from := j.dateFormat(c, c.fixed(1, ""), true)
	write, _ := j.dateFormat(c, c.fixed(2, ""), false)
	return j.stored(c, 3, func(s *expr.Scope) string {
		t, err := time.ParseInLocation(from, strings.TrimSpace(c.first(s)), time.Local)
		if err != nil {
			return ""
		}
		return write(t)
	})
}

// randomDate is a day from one to before another.
func (j *reader) randomDate(c *functionCall) expr.Expression {
	write, layout := j.dateFormat(c, c.fixed(0, "yyyy-MM-dd"), true)
	return j.stored(c, 4, func(s *expr.Scope) string {
		a := c.texts(s)
		begin := clock(s)
		if text := strings.TrimSpace(a[1]); text != "" {
			begin, _ = time.ParseInLocation(layout, text, time.Local)
		}
		end, err := time.ParseInLocation(layout, strings.TrimSpace(a[2]), time.Local)
		days := int(end.Sub(begin).Hours() / 24)
		if err != nil || days <= 0 {
			return ""
		}
		return write(begin.AddDate(0, 0, s.RNG.IntN(days)))
	})
}

// chooseRandom is one of its arguments but the last, which names a variable.
func (j *reader) chooseRandom(c *functionCall) expr.Expression {
	return j.stored(c, len(c.args)-1, func(s *expr.Scope) string {
		a := c.texts(s)
		return a[s.RNG.IntN(len(a)-1)]
	})
}
