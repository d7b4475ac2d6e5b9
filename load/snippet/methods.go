package snippet

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// kind is what the values of an expression are.
type kind string

// The kinds that have rules of their own; the others are objects with the methods of the
// tables below.
const (
	text      kind = "text"
	woven     kind = "a text with expressions" // of Groovy, which equals no text
	integer   kind = "int"
	long      kind = "long" // a BigInt
	double    kind = "double"
	boolean   kind = "boolean"
	null      kind = "null"
	void      kind = "nothing"
	json      kind = "JSON" // known when the script runs
	exception kind = "exception"
	class     kind = "a class"
)

const lists = "a list of "

func listOf(item kind) kind { return lists + item }

// itemOf is the kind of a list's items. False: it is no list.
func itemOf(k kind) (kind, bool) {
	item, list := strings.CutPrefix(string(k), lists)
	return kind(item), list
}

func isText(k kind) bool   { return k == text || k == woven }
func isNumber(k kind) bool { return k == integer || k == long || k == double }

// isObject reports whether values of a kind are neither texts, numbers nor yes and no.
func isObject(k kind) bool {
	switch k {
	case text, woven, integer, long, double, boolean, null, void, json:
		return false
	}
	return true
}

// given are the kinds of JMeter's variables.
var given = map[string]kind{
	"vars": "vars", "props": "props", "ctx": "ctx", "prev": "sample", "SampleResult": "sample", "Response": "sample", "log": "log", "OUT": "out", "AssertionResult": "assertion",
	"sampler": "sampler", "Label": text, "Parameters": text, "threadName": text, "ResponseData": text, "SampleLabel": text, "ResponseHeaders": text,
	"ResponseCode": text, "ResponseMessage": text, "IsSuccess": boolean, "Failure": boolean, "FailureMessage": text, "args": lists + text, "bshParams": lists + text,
}

// settable are those that BeanShell scripts set.
var settable = map[string]bool{"ResponseCode": true, "ResponseMessage": true, "IsSuccess": true, "Failure": true, "FailureMessage": true}

// signature is one way to call a method: the kinds of its arguments, what it gives and the
// JavaScript of it, in which $0 is the object and $1 the first argument.
type signature struct {
	arguments []kind
	gives     kind
	js        string
}

// kindNames are the names that the tables have for kinds: "any" is a text of whatever is
// given, "item" the items of a list, "equal" a text that is no text with expressions,
// "pattern" a regular expression that is written in the script.
var kindNames = map[string]kind{"bool": boolean, "void": void, "json": json, "texts": lists + text}

// everyday are the methods, an object's name before each. One of a class has that, one that
// makes an object is called new.
//
//go:embed methods.txt
var everyday string

// tables are the signatures by object and name.
var tables = sync.OnceValue(func() map[string][]signature {
	line := regexp.MustCompile(`(?m)^([\w.]+)(?:\(([\w,]+)\))? (\w+) = (.+)$`)
	kindOf := func(name string) kind {
		if k, ok := kindNames[name]; ok {
			return k
		}
		return kind(name)
	}
	all := map[string][]signature{}
	for _, m := range line.FindAllStringSubmatch(everyday, -1) {
		s := signature{gives: kindOf(m[3]), js: m[4]}
		for name := range strings.SplitSeq(m[2], ",") {
			if name != "" {
				s.arguments = append(s.arguments, kindOf(name))
			}
		}
		all[m[1]] = append(all[m[1]], s)
	}
	return all
})

// tableName is what the tables call an object of a kind.
func tableName(k kind) string {
	if _, list := itemOf(k); list {
		return "list"
	}
	switch k {
	case woven:
		return "text"
	case boolean:
		return "bool"
	case json:
		return "json"
	}
	return string(k)
}

// instead says what to write in place of a refused name, where that is known.
var instead = map[string]string{
	"SimpleDateFormat": "read ${__time(PATTERN)}", "LocalDate": "read ${__time(PATTERN)}", "LocalDateTime": "read ${__time(PATTERN)}",
	"Instant": "read ${__time(PATTERN)}", "Calendar": "read ${__timeShift(…)}",
	"MessageDigest": "read ${__digest(…)}", "DigestUtils": "read ${__digest(…)}", "File": "read ${__FileToString(…)} or a CSV data set", "Socket": "leave it out",
	"getObject": "keep a text, by put and get", "putObject": "keep a text, by put and get", "format": "put the text together by +",
}

// Object names the object that a variable of JMeter's is; empty: it is another value.
func Object(variable string) string {
	if k := given[variable]; k != text && k != boolean && k != lists+text {
		return string(k)
	}
	return ""
}

// Method gives the object that a method of an object comes to, empty where that is another
// value. False: scripts cannot call the method.
func Method(object, name string) (gives string, ok bool) {
	if object == "log" || object == "out" {
		return "", slices.Contains(logMethods[object], name)
	}
	all := tables()[object+"."+name]
	if len(all) == 0 {
		return "", false
	}
	if k := all[0].gives; k == "vars" || k == "props" || k == "thread" || k == "group" || k == "sampler" || k == "sample" {
		return string(k), true
	}
	return "", true
}

// logMethods print their first argument, whatever it is.
var logMethods = map[string][]string{"log": {"info", "warn", "error", "debug", "trace"}, "out": {"println", "print"}}
