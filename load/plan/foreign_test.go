package plan

import (
	"strings"
	"testing"

	"whittle"
)

// What is no plan is said to be what it is; what may be a plan with a mistake is left to its
// reader.
func TestWhatIsNoPlan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x1f\x8b\x08\x00\x00": "gzip", "PK\x03\x04\x14\x00": "a zip archive", "BZh91AY": "bzip2", "\xfd7zXZ\x00\x00": "xz", "\x28\xb5\x2f\xfd\x04": "zstd", "7z\xbc\xaf\x27\x1c": "7z",
		"%PDF-1.7\n%\xe2": "a PDF", "\x89PNG\r\n\x1a\n": "a picture", "\xff\xd8\xff\xe0": "a picture", "\x7fELF\x02": "a program", "plan.jmx" + strings.Repeat("\x00", 249) + "ustar\x0000": "a tar archive",
		"abc\x00def": "a binary file", "\xca\xfe\xba\xbe\x00\x00": "a binary file",
		"\xff\xfec\x00o\x00": "UTF-16", "\xfe\xff\x00c\x00o": "UTF-16", "c\x00o\x00n\x00f\x00i\x00": "UTF-16", "\x00c\x00o\x00n\x00f\x00i": "UTF-16", "\xff\xfe\x00\x00c\x00\x00\x00": "UTF-32",
		"<!DOCTYPE html>\n<html>": "an HTML page", "\n\n <!-- saved -->\n<HTML>": "an HTML page", "\ufeff<html lang=en>": "an HTML page",
		"version https://git-lfs.github.com/spec/v1\noid": "Git LFS", "404: Not Found": "no such file", `{"message": "Not Found", "status": "404"}`: "no such file",
		`{"log": {"version": "1.2", "entries": []}}`: "HAR", `{"info": {"_postman_id": "1"}}`: "Postman",
		`{"openapi": "3.0.0"}`: "OpenAPI", "# api\nopenapi: 3.0.1\n": "OpenAPI", "swagger: '2.0'\n": "OpenAPI",
		`{"format": "whittle.load/1"}`: "a report of whittle's", `{"aggregate": {"counters": {}}}`: "a report of Artillery's",
		"// a\nimport http from 'k6/http';": "k6", `const k = require("k6")`: "k6", "from locust import HttpUser": "Locust", "class A extends Simulation {": "Gatling",
		"timeStamp,elapsed,label": "results", "1483228800000,12,a": "results", "<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">": "results",
		"<?xml version=\"1.0\"?>\n<!DOCTYPE tsung SYSTEM \"t\">": "Tsung", "GET http://a/\n\nPOST http://b/\n": "Vegeta", "listen: :80\nroutes: []\n": "gateway",
		"'use strict';\nmodule.exports = {}": "JavaScript", "export const a = 1": "JavaScript",
		// Nothing is said of these.
		"": "", "a: b": "", "config: {target: x}\nscenarios: [{flow: [{log: \"import x from 'k6/http'\"}]}]": "", `{"config": {}, "scenarios": [{"name": "module.exports"}]}`: "",
		"<jmeterTestPlan><!-- extends Simulation -->": "", "config:\r\n  target: x\r\nroutes: 1": "", "config: {target: h\xe9}": "",
	} {
		err := Foreign("f", []byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
