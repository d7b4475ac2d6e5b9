package jmeter

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dialect is a language that is written as JavaScript.
type dialect int

const (
	javascript dialect = iota
	groovy
	beanshell
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

// scriptToken is a piece of a script.
var scriptToken = regexp.MustCompile(`(?s)^(?:` +
	`(//[^\n]*|/\*.*?\*/)` + // 1: a comment
	`|('''.*?'''|"""..*?"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")` + // 2: a text
	`|(\d[\w.]*)` + // 3: a number
	`|([A-Za-z_]\w*)` + // 4: a word
	`|(\s+)` + // 5
	`|(===|!==|==|!=|<=|>=|&&|\|\||\+\+|--|\+=|-=|\*=|\?\.|\?:|->|=~|==~|<<|[-+*/%=<>!?:;,.(){}\[\]&|@]))`) // 6: a sign

// types are words that declare a variable of a type.
var types = map[string]bool{
	"def": true, "var": true, "String": true, "int": true, "Integer": true, "long": true, "Long": true, "boolean": true, "Boolean": true, "Object": true,
	"List": true, "Map": true, "ArrayList": true,
}

// known are words of the languages and names of what a script is given.
var known = words(`if else for while return true false null new in instanceof break continue final
	vars props log ctx prev data Label Parameters args OUT println print AssertionResult SampleResult FailureMessage Failure
	Math String Integer Long Boolean UUID System Random JsonSlurper JsonOutput Date Thread Object`)

// methods are those that mean the same as a call in JavaScript, by themselves or by the
// prelude.
var methods = words(`get put getObject putObject remove containsKey getProperty setProperty info warn error debug trace println print
	getResponseDataAsString getResponseData getResponseCode getResponseMessage getTime isSuccessful getResponseHeaders getUrlAsString getURL
	setFailure setFailureMessage setError setResponseData setResponseMessage setResponseCode setResponseCodeOK setResponseOK setDataType setSampleLabel setIgnore
	getThreadNum getVariables getProperties getPreviousResult
	toString toInteger toLong trim length size substring toUpperCase toLowerCase replace contains startsWith endsWith equals equalsIgnoreCase isEmpty
	indexOf lastIndexOf charAt concat split isNumber isInteger
	parseText parse toJson prettyPrint randomUUID currentTimeMillis nextInt parseInt valueOf parseLong format
	floor ceil abs max min round random sqrt pow`)

func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// prelude gives JavaScript what scripts call of Java. It is added to a script of Groovy or
// BeanShell, on its first line, and keeps nothing between scripts.
const prelude = `(function(){` +
	`function method(of,name,f){if(!Object.prototype.hasOwnProperty.call(of.prototype,name))Object.defineProperty(of.prototype,name,{value:f,configurable:true,writable:true})}` +
	`function whole(t){t=String(t).trim();if(!/^[-+]?\d+$/.test(t))throw new Error("not a number: "+t);return Number(t)}` +
	`method(String,"toInteger",function(){return whole(this)});method(String,"toLong",function(){return whole(this)});` +
	`method(Number,"toInteger",function(){return Math.trunc(this)});method(Number,"toLong",function(){return Math.trunc(this)});` +
	`method(String,"size",function(){return this.length});method(Array,"size",function(){return this.length});` +
	`method(String,"contains",function(t){return this.indexOf(t)>=0});method(Array,"contains",function(t){return this.indexOf(t)>=0});` +
	`method(String,"equals",function(t){return t!=null&&String(this)===String(t)});method(Number,"equals",function(t){return Number(this)===t});` +
	`method(String,"equalsIgnoreCase",function(t){return t!=null&&this.toLowerCase()===String(t).toLowerCase()});` +
	`method(String,"isEmpty",function(){return this.length===0});method(Array,"isEmpty",function(){return this.length===0});` +
	`method(String,"isNumber",function(){return /^[-+]?\d+(\.\d+)?$/.test(this.trim())});method(String,"isInteger",function(){return /^[-+]?\d+$/.test(this.trim())});` +
	`method(Array,"get",function(i){return this[i]});` +
	`globalThis.whittleJava={whole:whole,truth:function(v){return v!=null&&v!==false&&v!==""&&v!==0},` +
	`Integer:{parseInt:whole,valueOf:whole,toString:String},Long:{parseLong:whole,valueOf:whole,toString:String},Boolean:{parseBoolean:function(t){return String(t).toLowerCase()==="true"}},` +
	`Text:{valueOf:function(v){return v==null?"null":String(v)}},UUID:{randomUUID:function(){return whittleUUID()}},System:{currentTimeMillis:function(){return whittleNow()}},` +
	`Random:function(){return{nextInt:function(n){return Math.floor(Math.random()*(n===undefined?2147483647:n))}}},` +
	`JsonSlurper:function(){return{parseText:function(t){return JSON.parse(t)},parse:function(t){return JSON.parse(t)}}},` +
	`JsonOutput:{toJson:function(v){return JSON.stringify(v)}},` +
	`Date:function(ms){var at=ms===undefined?whittleNow():ms;return{getTime:function(){return at},format:function(p){var t=whittleDate(p,at);if(t==null)throw new Error("the date format "+p);return t}}},` +
	`text:function(v){return v==null?"null":typeof v==="object"&&!Array.isArray(v)?JSON.stringify(v):String(v)}};})();`

// javaNames are classes by what the prelude calls them.
var javaNames = map[string]string{
	"Integer": "whittleJava.Integer", "Long": "whittleJava.Long", "Boolean": "whittleJava.Boolean", "String": "whittleJava.Text", "UUID": "whittleJava.UUID",
	"System": "whittleJava.System", "Random": "whittleJava.Random", "JsonSlurper": "whittleJava.JsonSlurper", "JsonOutput": "whittleJava.JsonOutput", "Date": "whittleJava.Date",
}

// qualified are the packages that a class's name may have before it, and imports.
var (
	qualified = regexp.MustCompile(`\b(?:java\.util|java\.lang|groovy\.json|java\.text)\.([A-Z])`)
	imports   = regexp.MustCompile(`(?m)^[ \t]*import[ \t]+[\w.* ]+;?[ \t]*\r?$`)
	asWhole   = regexp.MustCompile(`([\w.]+(?:\((?:[^()]|\([^()]*\))*\))?)\s+as\s+(?:int|Integer|long|Long)\b`)
	asText    = regexp.MustCompile(`([\w.]+(?:\((?:[^()]|\([^()]*\))*\))?)\s+as\s+String\b`)
)

// translate writes a script as JavaScript. reference takes what stands between ${ and }
// of a reference of JMeter's, and gives its number. Where something is not known to mean
// the same, why says what, and line where it is.
func translate(text string, d dialect, reference func(string) int) (out string, line int, why string) {
	if d == javascript {
		return references(text, reference), 0, ""
	}
	text = imports.ReplaceAllString(text, "")
	text = qualified.ReplaceAllString(text, "$1")
	if d == groovy {
		text = asWhole.ReplaceAllString(text, "whittleWhole($1)")
		text = asText.ReplaceAllString(text, "whittleString($1)")
	}
	t := &translation{dialect: d, reference: reference, line: 1, declared: map[string]bool{"whittleWhole": true, "whittleString": true}}
	// Names are declared before they are used, but a branch may use what another declares.
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		t.declared[m[1]] = true
	}
	t.out.WriteString(prelude)
	t.out.WriteString("var whittleWhole=whittleJava.whole,whittleString=whittleJava.text;")
	t.rewrite(text)
	return t.out.String(), t.line, t.why
}

// declaration is a variable's, with or without its type.
var declaration = regexp.MustCompile(`(?:\b(?:def|var|String|int|Integer|long|Long|boolean|Boolean|Object|List|Map|ArrayList)\s+|^\s*|\n\s*)([A-Za-z_]\w*)\s*=[^=~]`)

// quotedText is a text of JavaScript.
var quotedText = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)

// references writes JMeter's references in a script of JavaScript. Those in a
// template literal are its own.
func references(text string, reference func(string) int) string {
	var b strings.Builder
	call := func(inner, as string) string { return as + "(" + strconv.Itoa(reference(inner)) + ")" }
	for i := 0; i < len(text); {
		if quoted := quotedText.FindString(text[i:]); quoted != "" {
			b.WriteString(referencesIn(quoted, call))
			i += len(quoted)
			continue
		}
		if text[i] == '`' {
			if end := strings.IndexByte(text[i+1:], '`'); end >= 0 {
				b.WriteString(text[i : i+end+2])
				i += end + 2
				continue
			}
		}
		if strings.HasPrefix(text[i:], "${") {
			if n := referenceLength(text[i:]); n > 0 {
				b.WriteString(call(text[i+2:i+n-1], "whittleValue"))
				i += n
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// referencesIn writes a text with references in it as a sum.
func referencesIn(quoted string, call func(inner, as string) string) string {
	quote, inner := quoted[:1], quoted[1:len(quoted)-1]
	if !strings.Contains(inner, "${") {
		return quoted
	}
	out := "(" + quote
	for {
		at := strings.Index(inner, "${")
		n := 0
		if at >= 0 {
			n = referenceLength(inner[at:])
		}
		if n == 0 {
			return out + inner + quote + ")"
		}
		out += inner[:at] + quote + "+" + call(inner[at+2:at+n-1], "whittleText") + "+" + quote
		inner = inner[at+n:]
	}
}

// translation is a script on its way.
type translation struct {
	dialect
	reference func(string) int
	declared  map[string]bool
	out       strings.Builder
	line      int
	why       string
	before    string // the last word or sign
	depth     int    // of brackets in which a line's end means nothing
}

// rewrite writes a script piece by piece, until something is not known.
func (t *translation) rewrite(text string) {
	for text != "" && t.why == "" {
		if strings.HasPrefix(text, "${") {
			n := referenceLength(text)
			if n == 0 {
				t.why = "${ without }"
				return
			}
			t.put("whittleValue("+strconv.Itoa(t.reference(text[2:n-1]))+")", "x")
			text = text[n:]
			continue
		}
		m := scriptToken.FindStringSubmatch(text)
		if m == nil {
			t.why = "the character " + strconv.QuoteRune([]rune(text)[0])
			return
		}
		rest := text[len(m[0]):]
		switch {
		case m[1] != "" || m[5] != "":
			t.space(m[0], rest)
		case m[2] != "":
			t.text(m[2])
		case m[3] != "":
			if strings.ContainsAny(m[3], ".eEgGdDfF") && !strings.HasPrefix(m[3], "0x") {
				t.why = "the number " + m[3] + ", whose fraction Java writes otherwise"
				return
			}
			t.put(strings.TrimRight(m[3], "lL"), m[3])
		case m[4] != "":
			t.word(m[4], rest)
		default:
			t.sign(m[6], rest)
		}
		t.line += strings.Count(m[0], "\n")
		text = rest
	}
}

func (t *translation) put(text, token string) {
	t.out.WriteString(text)
	t.before = token
}

// space ends a statement at a line's end where Groovy does and JavaScript might not.
func (t *translation) space(text, rest string) {
	t.out.WriteString(text)
	next := strings.TrimLeft(rest, " \t\r\n")
	if strings.Contains(text, "\n") && t.depth == 0 && (strings.HasPrefix(next, "(") || strings.HasPrefix(next, "[")) && !strings.ContainsAny(t.before, "({[,=+-*&|?:") && t.before != "" {
		t.out.WriteString(";")
	}
}

// text writes a text. One in double quotes may hold expressions.
func (t *translation) text(quoted string) {
	size := 1
	if strings.HasPrefix(quoted, `"""`) || strings.HasPrefix(quoted, "'''") {
		size = 3
	}
	inner := quoted[size : len(quoted)-size]
	var b strings.Builder
	b.WriteByte('`')
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\' && i+1 < len(inner):
			b.WriteString(inner[i : i+2])
			i++
		case c == '`':
			b.WriteString("\\`")
		case strings.HasPrefix(inner[i:], "${"):
			n := referenceLength(inner[i:])
			if n == 0 {
				t.why = "${ without }"
				return
			}
			b.WriteString("${" + t.within(inner[i+2:i+n-1], quoted[0] == '"') + "}")
			i += n - 1
		case c == '$' && quoted[0] == '"' && t.dialect == groovy && i+1 < len(inner) && (inner[i+1]|0x20 >= 'a' && inner[i+1]|0x20 <= 'z'):
			end := i + 1
			for end < len(inner) && (inner[end] == '_' || inner[end] == '.' || inner[end]|0x20 >= 'a' && inner[end]|0x20 <= 'z' || inner[end] >= '0' && inner[end] <= '9') {
				end++
			}
			b.WriteString("${" + t.within(strings.TrimRight(inner[i+1:end], "."), true) + "}")
			i = end - 1
		case c == '$':
			b.WriteString("\\$")
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('`')
	t.put(b.String(), "x")
}

// within writes what stands in ${} in a text: an expression of the script's own
// variables, or a reference of JMeter's.
func (t *translation) within(inner string, expression bool) string {
	first, _, _ := strings.Cut(inner, ".")
	if expression && t.dialect == groovy && (t.declared[first] || first == "vars" || first == "prev" || first == "props") {
		own := &translation{dialect: t.dialect, reference: t.reference, declared: t.declared}
		own.rewrite(inner)
		t.why = own.why
		return "whittleJava.text(" + own.out.String() + ")"
	}
	return "whittleText(" + strconv.Itoa(t.reference(inner)) + ")"
}

func (t *translation) word(w, rest string) {
	next := strings.TrimLeft(rest, " \t")
	called := strings.HasPrefix(next, "(")
	member := t.before == "." || t.before == "?."
	switch {
	case member && called && !methods[w]:
		t.why = "the call of " + w
	case member && w == "length" && called:
		t.put("size", w)
	case member:
		t.put(w, w)
	case w == "final":
	case t.before == "new":
		if javaNames[w] == "" || w == "Integer" || w == "String" || w == "Long" {
			t.why = "new " + w
			return
		}
		t.put(javaNames[w], w)
	case types[w] && isName(next) && !called:
		t.put("var", "var")
	case strings.HasPrefix(next, ".") && javaNames[w] != "" && !t.declared[w]:
		t.put(javaNames[w], w)
	case t.declared[w]:
		t.put(w, w)
	case strings.HasPrefix(next, ":") && (t.before == "{" || t.before == ","):
		t.put(w, w)
	case !known[w], w == "Thread", w == "Date" && t.before != "new":
		t.why = w
	case called && w == "println", called && w == "print", !called, w == "if", w == "for", w == "while", w == "return", w == "in":
		t.put(w, w)
	default:
		t.why = "the call of " + w
	}
}

// isName reports whether a text begins with a name.
func isName(text string) bool {
	return text != "" && (text[0] == '_' || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z')
}

func (t *translation) sign(s, rest string) {
	switch s {
	case "->", "=~", "==~", "<<", "@":
		t.why = s
		return
	case "/":
		t.why = "a division, of which Java and JavaScript think otherwise"
		return
	case "?:":
		s = "||"
	case "(", "[":
		t.depth++
	case ")", "]":
		t.depth--
	case "{":
		if t.before != ")" && t.before != "else" && t.before != ";" && t.before != "" {
			t.why = "a closure"
			return
		}
	case "[:":
		t.why = s
		return
	}
	if s == "[" && (t.before == "=" || t.before == "(" || t.before == ",") {
		if i := strings.IndexAny(rest, "]:"); i >= 0 && rest[i] == ':' {
			t.why = "a map"
			return
		}
	}
	t.put(s, s)
}
