package jmeter

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
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

// textFunction computes a text of its arguments' texts. stored is the argument that
// names a variable for the result; 0: none does.
type textFunction struct {
	least, stored int
	of            func(args []string) string
}

// textFunctions are those that depend on nothing but their arguments.
var textFunctions = map[string]textFunction{
	"urldecode": {1, 0, func(a []string) string {
		plain, err := url.QueryUnescape(a[0])
		if err != nil {
			return a[0]
		}
		return plain
	}},
	"changeCase":           {1, 2, changeCase},
	"uppercase":            {1, 1, func(a []string) string { return strings.ToUpper(a[0]) }},
	"lowercase":            {1, 1, func(a []string) string { return strings.ToLower(a[0]) }},
	"escapeHtml":           {1, 0, func(a []string) string { return escapeHTML()(a[0]) }},
	"unescapeHtml":         {1, 0, func(a []string) string { return html.UnescapeString(a[0]) }},
	"escapeXml":            {1, 0, func(a []string) string { return escapeXML.Replace(a[0]) }},
	"unescape":             {1, 0, func(a []string) string { return unescapeJava(a[0]) }},
	"char":                 {1, 0, charsOf},
	"digest":               {2, 4, digestOf},
	"MD5":                  {1, 1, func(a []string) string { b := md5.Sum([]byte(a[0])); return hex.EncodeToString(b[:]) }},
	"base64Encode":         {1, 1, func(a []string) string { return base64.StdEncoding.EncodeToString([]byte(a[0])) }},
	"base64Decode":         {1, 1, base64Plain},
	"strLen":               {1, 1, func(a []string) string { return strconv.Itoa(len([]rune(a[0]))) }},
	"substring":            {3, 3, substring},
	"strReplace":           {3, 3, func(a []string) string { return strings.ReplaceAll(a[0], a[1], a[2]) }},
	"if":                   {4, 4, chosen},
	"machineName":          {0, 0, func([]string) string { return "localhost" }},
	"machineIP":            {0, 0, func([]string) string { return "127.0.0.1" }},
	"escapeOroRegexpChars": {1, 1, func(a []string) string { return regexp.QuoteMeta(a[0]) }},
}

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

// textCall compiles a call of one of them.
func (j *reader) textCall(c *functionCall, f textFunction) expr.Expression {
	if len(c.args) < f.least {
		panic(c.at.Invalid("${__%s}: takes %d arguments at least", c.raw, f.least))
	}
	name := ""
	if f.stored > 0 {
		name = c.fixed(f.stored, "")
	}
	return j.foldable(c.args, name, func(s *expr.Scope) expr.Value { return expr.TextValue(f.of(c.texts(s))) })
}

// texts renders a call's arguments.
func (c *functionCall) texts(s *expr.Scope) []string {
	out := make([]string, len(c.args))
	for i, a := range c.args {
		out[i] = string(a.Render(nil, s))
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

func digestOf(a []string) string {
	data := []byte(a[1] + argument(a, 2))
	var sum []byte
	switch strings.ToUpper(strings.TrimSpace(a[0])) {
	case "MD5":
		b := md5.Sum(data)
		sum = b[:]
	case "SHA-1", "SHA1", "SHA":
		b := sha1.Sum(data)
		sum = b[:]
	case "SHA-256":
		b := sha256.Sum256(data)
		sum = b[:]
	case "SHA-384":
		b := sha512.Sum384(data)
		sum = b[:]
	case "SHA-512":
		b := sha512.Sum512(data)
		sum = b[:]
	}
	out := hex.EncodeToString(sum)
	if strings.EqualFold(strings.TrimSpace(argument(a, 3)), "true") {
		out = strings.ToUpper(out)
	}
	return out
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

// variableFunctions are those that read or fill variables, properties and files.
var variableFunctions = map[string]func(*reader, *functionCall) expr.Expression{
	"V":               (*reader).variableByName,
	"eval":            (*reader).evaluate,
	"evalVar":         (*reader).evaluateVariable,
	"isVarDefined":    func(j *reader, c *functionCall) expr.Expression { return j.isDefined(c, j.value) },
	"isDefined":       func(j *reader, c *functionCall) expr.Expression { return j.isDefined(c, j.value) },
	"isPropDefined":   func(j *reader, c *functionCall) expr.Expression { return j.isDefined(c, j.propertyValue) },
	"setProperty":     (*reader).setPropertyCall,
	"split":           (*reader).split,
	"log":             func(j *reader, c *functionCall) expr.Expression { return j.firstArgument(c) },
	"logn":            func(*reader, *functionCall) expr.Expression { return fixedText("") },
	"samplerName":     (*reader).presentSampler,
	"env":             func(j *reader, c *functionCall) expr.Expression { return fixedText(j.Source.Env(c.fixed(0, ""))) },
	"FileToString":    (*reader).fileToString,
	"StringFromFile":  (*reader).lineOfFile,
	"StringToFile":    (*reader).stringToFile,
	"timeShift":       (*reader).timeShift,
	"dateTimeConvert": (*reader).convertTime,
	"RandomDate":      (*reader).randomDate,
	"chooseRandom":    (*reader).chooseRandom,
}

func (j *reader) firstArgument(c *functionCall) expr.Expression {
	if len(c.args) == 0 {
		return fixedText("")
	}
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value { return expr.TextValue(string(c.args[0].Render(nil, s))) }}
}

// nameKey is where the name of a user's present sampler is kept, or of its last.
type nameKey struct{}

// presentSampler is __samplerName.
func (j *reader) presentSampler(c *functionCall) expr.Expression {
	return expr.Expression{Eval: j.storeResult(c.fixed(0, ""), func(s *expr.Scope) expr.Value {
		if s.User == nil {
			return expr.TextValue("")
		}
		return expr.TextValue(*userState[string](s.User, nameKey{}))
	})}
}

// variableByName is __V: a variable whose name is computed.
func (j *reader) variableByName(c *functionCall) expr.Expression {
	c.need(1)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		a := c.texts(s)
		if text, ok := j.value(s, a[0]); ok {
			return expr.TextValue(text)
		}
		if len(a) > 1 {
			return expr.TextValue(a[1])
		}
		return expr.TextValue(a[0])
	}}
}

// need panics where a call has fewer arguments.
func (c *functionCall) need(n int) {
	if len(c.args) < n {
		panic(c.at.Invalid("${__%s}: takes %d arguments at least", c.raw, n))
	}
}

func (j *reader) evaluate(c *functionCall) expr.Expression {
	c.need(1)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		return expr.TextValue(j.expand(s, string(c.args[0].Render(nil, s))))
	}}
}

func (j *reader) evaluateVariable(c *functionCall) expr.Expression {
	c.need(1)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		text, _ := j.value(s, string(c.args[0].Render(nil, s)))
		return expr.TextValue(j.expand(s, text))
	}}
}

func (j *reader) isDefined(c *functionCall, of func(*expr.Scope, string) (string, bool)) expr.Expression {
	c.need(1)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		_, ok := of(s, string(c.args[0].Render(nil, s)))
		return expr.TextValue(strconv.FormatBool(ok))
	}}
}

func (j *reader) setPropertyCall(c *functionCall) expr.Expression {
	c.need(2)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		a := c.texts(s)
		_, had := j.propertyValue(s, strings.TrimSpace(a[0]))
		before := j.setProperty(s, strings.TrimSpace(a[0]), strings.TrimSpace(a[1]))
		if !had {
			before = "null" // as Java writes what is none
		}
		if !strings.EqualFold(strings.TrimSpace(argument(a, 2)), "true") {
			before = ""
		}
		return expr.TextValue(before)
	}}
}

// split fills name, name_n and name_1, name_2 … with the pieces of a text.
func (j *reader) split(c *functionCall) expr.Expression {
	c.need(2)
	name := c.fixed(1, "")
	j.runtime[name], j.listed[name] = true, true
	j.Define(name)
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		a := c.texts(s)
		by := argument(a, 2)
		if by == "" {
			by = ","
		}
		pieces := strings.Split(a[0], by)
		pieces = pieces[:min(len(pieces), expr.MaxMatches)]
		for i, p := range pieces {
			if p == "" {
				p = "?"
			}
			j.assign(s, name+"_"+strconv.Itoa(i+1), p)
		}
		j.remove(s, name+"_"+strconv.Itoa(len(pieces)+1))
		j.assign(s, name+"_n", strconv.Itoa(len(pieces)))
		j.assign(s, name, a[0])
		return expr.TextValue(a[0])
	}}
}

// fileToString is __FileToString. A file whose name varies is read during the run; of one
// that cannot be read JMeter makes **ERR**.
func (j *reader) fileToString(c *functionCall) expr.Expression {
	c.need(1)
	if name, ok := c.args[0].Constant(); ok {
		text := string(j.openFile(c.at, strings.TrimSpace(name)))
		return expr.Expression{Eval: j.storeResult(c.fixed(2, ""), func(*expr.Scope) expr.Value { return expr.TextValue(text) })}
	}
	return expr.Expression{Eval: j.storeResult(c.fixed(2, ""), func(s *expr.Scope) expr.Value {
		text, ok := j.fileDuringRun(strings.TrimSpace(string(c.args[0].Render(nil, s))))
		if !ok {
			text = "**ERR**"
		}
		return expr.TextValue(text)
	})}
}

// lineOfFile deals the lines of a file to all users in turn, each call by itself.
func (j *reader) lineOfFile(c *functionCall) expr.Expression {
	c.need(1)
	if c.fixed(2, "") != "" {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: files of several numbers are not supported", c.raw))
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(j.openFile(c.at, c.fixed(0, ""))), "\r\n", "\n"), "\n"), "\n")
	return expr.Expression{Eval: j.storeResult(c.fixed(1, ""), func(s *expr.Scope) expr.Value {
		return expr.TextValue(lines[(countAll(s.User, c)-1)%int64(len(lines))])
	})}
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
		text, fixed := expr.Template(nil).Constant()
		if len(c.args) > 1 {
			text, fixed = c.args[1].Constant()
		}
		write, layout = j.dateFormat(c, pattern, !fixed || strings.TrimSpace(text) != "")
	}
	return expr.Expression{Eval: j.storeResult(c.fixed(4, ""), func(s *expr.Scope) expr.Value {
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
			return expr.TextValue(write(at.AddDate(0, 0, int(days))))
		}
		return expr.TextValue(write(at.Add(by)))
	})}
}

func (j *reader) convertTime(c *functionCall) expr.Expression {
	c.need(3)
	_, from := j.dateFormat(c, c.fixed(1, ""), true)
	write, _ := j.dateFormat(c, c.fixed(2, ""), false)
	return expr.Expression{Eval: j.storeResult(c.fixed(3, ""), func(s *expr.Scope) expr.Value {
		t, err := time.ParseInLocation(from, strings.TrimSpace(c.texts(s)[0]), time.Local)
		if err != nil {
			return expr.TextValue("")
		}
		return expr.TextValue(write(t))
	})}
}

// randomDate is a day from one to before another.
func (j *reader) randomDate(c *functionCall) expr.Expression {
	c.need(3)
	pattern := c.fixed(0, "")
	if pattern == "" {
		pattern = "yyyy-MM-dd"
	}
	write, layout := j.dateFormat(c, pattern, true)
	return expr.Expression{Eval: j.storeResult(c.fixed(4, ""), func(s *expr.Scope) expr.Value {
		a := c.texts(s)
		begin := clock(s)
		if text := strings.TrimSpace(a[1]); text != "" {
			begin, _ = time.ParseInLocation(layout, text, time.Local)
		}
		end, err := time.ParseInLocation(layout, strings.TrimSpace(a[2]), time.Local)
		days := int(end.Sub(begin).Hours() / 24)
		if err != nil || days <= 0 {
			return expr.TextValue("")
		}
		return expr.TextValue(write(begin.AddDate(0, 0, s.RNG.IntN(days))))
	})}
}

// chooseRandom is one of its arguments but the last, which names a variable.
func (j *reader) chooseRandom(c *functionCall) expr.Expression {
	c.need(2)
	return expr.Expression{Eval: j.storeResult(c.fixed(len(c.args)-1, ""), func(s *expr.Scope) expr.Value {
		a := c.texts(s)
		return expr.TextValue(a[s.RNG.IntN(len(a)-1)])
	})}
}
