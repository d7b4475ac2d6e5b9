package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// causeCase is one fault with some of the values that it gave: the monolith's and
// the candidate's, in turn. An empty one is a missing member. cause is what must
// be in the guess; empty: nothing must be guessed.
type causeCase struct {
	name, cause string
	pairs       []string
}

// realBugs are faults that services have when they are written anew. Those that
// follow a public report name it, and have its values or ones like them; the others
// are made up.
var realBugs = []causeCase{
	// Rounding.
	{"BigDecimal HALF_EVEN for HALF_UP (axelor-open-suite 14254)", "rounds to 2 decimals, half even", []string{`10.125`, `10.12`, `3.775`, `3.78`, `0.625`, `0.62`, `7.111`, `7.11`}},
	{"bankers' rounding (RubyMoney 863)", "rounds to whole numbers, half even", []string{`2.5`, `2`, `4.5`, `4`, `1.6`, `2`, `3.5`, `4`}},
	{"half up", "rounds to 2 decimals, half up", []string{`10.125`, `10.13`, `0.625`, `0.63`, `8.444`, `8.44`}},
	{"int cast of an average", "cuts off to whole numbers", []string{`12.7`, `12`, `3.9`, `3`, `8.2`, `8`}},
	{"towards zero, with negative ones", "cuts off to 1 decimals (towards zero)", []string{`-12.76`, `-12.7`, `3.98`, `3.9`, `8.28`, `8.2`}},
	{"floor, with negative ones", "rounds to 1 decimals, down", []string{`-12.74`, `-12.8`, `3.98`, `3.9`, `8.28`, `8.2`}},
	{"ceil", "rounds to whole numbers, up", []string{`12.1`, `13`, `3.4`, `4`, `8.2`, `9`}},
	{"rounds to cents in one place only", "rounds to 2 decimals", []string{`12.1234`, `12.12`, `3.456`, `3.46`, `8.2199`, `8.22`}},
	{"the monolith rounds", "does not round to 2 decimals", []string{`12.12`, `12.1234`, `3.46`, `3.456`, `8.22`, `8.2199`}},
	{"sum of rounded lines against rounded sum", "one more", []string{`10.12`, `10.13`, `99.99`, `100.00`, `7.45`, `7.46`}},
	{"rounding in strings", "cuts off to 2 decimals", []string{`"10.129"`, `"10.12"`, `"3.777"`, `"3.77"`, `"0.625"`, `"0.62"`, `"9.998"`, `"9.99"`}},

	// Formats of numbers.
	{"trailing zeros (Newtonsoft.Json 2220)", "trailing zeros are left out", []string{`"12.30"`, `"12.3"`, `"87.50"`, `"87.5"`, `"1.00"`, `"1"`}},
	{"fixed to two decimals", "trailing zeros are added", []string{`"12.3"`, `"12.30"`, `"87.5"`, `"87.50"`, `"1"`, `"1.00"`}},
	{"exponent of a double in text", "with an exponent", []string{`"12345678"`, `"1.2345678E7"`, `"0.00001"`, `"1.0E-5"`, `"98765432"`, `"9.8765432E7"`}},
	{"0.1 + 0.2", "float arithmetic", []string{`0.3`, `0.30000000000000004`, `2.2`, `2.2000000000000002`, `4.35`, `4.3499999999999996`}},
	{"PHP's serialize_precision 17", "float arithmetic", []string{`8.95`, `8.9499999999999993`, `0.1`, `0.10000000000000001`, `1.1`, `1.1000000000000001`}},
	{"float32 in a struct (dart-lang/sdk 26951)", "32 bits", []string{`1.2`, `1.2000000476837158`, `11.4`, `11.399999618530273`, `1245.678`, `1245.677978515625`}},
	{"float32 printed at 15 digits (nlohmann/json 345)", "32 bits", []string{`11.4`, `11.3999996185303`, `0.1`, `0.100000001490116`, `5000.195`, `5000.19482421875`}},
	{"float32 of large amounts", "32 bits", []string{`16777217`, `16777216`, `123456789`, `123456792`, `987654321`, `987654336`}},
	{"snowflake ids through a double (upickle 522)", "2^53", []string{`738529527931269425`, `738529527931269376`, `1610521604143693812`, `1610521604143693824`, `6150769120280496265`, `6150769120280496000`}},
	{"ids printed by JavaScript (edit-json-file 63)", "2^53", []string{`1161888007138312193`, `1161888007138312200`, `653247040368672769`, `653247040368672800`, `738529527931269425`, `738529527931269400`}},
	{"int32 total", "wrapped round at 32 bits", []string{`3000000000`, `-1294967296`, `2147483648`, `-2147483648`, `4294967297`, `1`}},
	{"int16 column", "wrapped round at 16 bits", []string{`40000`, `-25536`, `33000`, `-32536`, `65537`, `1`}},
	{"MySQL clamps INT", "largest of 32 bits", []string{`3000000000`, `2147483647`, `2500000000`, `2147483647`, `9999999999`, `2147483647`}},
	{"thousands separators", "thousands have a separator", []string{`"1234567"`, `"1,234,567"`, `"12345.50"`, `"12,345.50"`, `"9876"`, `"9,876"`}},
	{"a server's German locale", "the decimal point is a comma", []string{`"1.50"`, `"1,50"`, `"12.99"`, `"12,99"`, `"0.10"`, `"0,10"`}},
	{"zip codes as numbers", "leading zeros are left out", []string{`"01067"`, `"1067"`, `"00501"`, `"501"`, `"07030"`, `"7030"`}},
	{"cents for euros", "multiplied by 100", []string{`12.5`, `1250`, `3`, `300`, `99.99`, `9999`}},
	{"seconds for milliseconds", "divided by 1,000", []string{`1500`, `1.5`, `250`, `0.25`, `30000`, `30`}},
	{"integer division", "divided by 1,000 and the remainder dropped", []string{`1500`, `1`, `2999`, `2`, `30001`, `30`}},
	{"reversed sign of a refund", "sign is reversed", []string{`-12.5`, `12.5`, `30`, `-30`, `-7`, `7`}},
	{"abs()", "sign is lost", []string{`-12.5`, `12.5`, `-30`, `30`, `-7`, `7`}},
	{"page from 0 in place of 1", "minus monolith is -1", []string{`1`, `0`, `2`, `1`, `7`, `6`}},
	{"a constant for a counter", "one and the same value", []string{`17`, `100`, `29`, `100`, `44`, `100`, `81`, `100`}},

	// Types and nothing.
	{"ids as strings (powermem 91)", "a number is a string", []string{`653247040368672768`, `"653247040368672768"`, `17`, `"17"`, `4`, `"4"`}},
	{"decimals as numbers", "a string is a number", []string{`"12.30"`, `12.3`, `"7"`, `7`, `"0.5"`, `0.5`}},
	{"\"true\"", "true and false are strings", []string{`true`, `"true"`, `false`, `"false"`, `true`, `"true"`}},
	{"tinyint(1)", "true and false are 1 and 0", []string{`true`, `1`, `false`, `0`, `true`, `1`}},
	{"0 and 1 from PHP", "1 and 0 are true and false", []string{`1`, `true`, `0`, `false`, `0`, `false`}},
	{"nil slice (radar 283)", "an empty list is null", []string{`[]`, `null`, `[]`, `null`, `[]`, `null`}},
	{"make([]T, 0)", "null is an empty list", []string{`null`, `[]`, `null`, `[]`, `null`, `[]`}},
	{"omitempty", "zero values are left out", []string{`0`, ``, `""`, ``, `false`, ``, `[]`, ``}},
	{"Jackson NON_NULL", "null is left out", []string{`null`, ``, `null`, ``, `null`, ``}},
	{"Include.ALWAYS", "what the monolith leaves out is null", []string{``, `null`, ``, `null`, ``, `null`}},
	{"proto3 strings", "null is an empty string", []string{`null`, `""`, `null`, `""`, `null`, `""`}},
	{"Oracle's empty strings", "an empty string is null", []string{`""`, `null`, `""`, `null`, `""`, `null`}},
	{"proto3 numbers", "null is 0", []string{`null`, `0`, `null`, `0`, `null`, `0`}},
	{"empty list left out", "an empty list is left out", []string{`[]`, ``, `[]`, ``, `[]`, ``}},
	{"PHP's empty map", "an empty object is an empty list", []string{`{}`, `[]`, `{}`, `[]`, `{}`, `[]`}},
	{"time.Time{}", "the zero time (the year 0001)", []string{`null`, `"0001-01-01T00:00:00Z"`, `null`, `"0001-01-01T00:00:00Z"`, `null`, `"0001-01-01T00:00:00Z"`}},
	{"XML to JSON with one child", "a list of one element is that element", []string{`["a"]`, `"a"`, `["b"]`, `"b"`, `[ "c d" ]`, `"c d"`}},
	{"str(None)", "null is written as a word", []string{`null`, `"None"`, `null`, `"None"`, `null`, `"None"`}},
	{"JSON encoded twice", "JSON is in a string", []string{`{"a":1}`, `"{\"a\":1}"`, `{"c":[1]}`, `"{\"c\":[1]}"`, `{"b":2}`, `"{\"b\": 2}"`}},

	// Times.
	{"local time for UTC (w3act 261)", "shifted by +1 h", []string{`"2013-03-07T12:12:20Z"`, `"2013-03-07T13:12:20Z"`, `"2013-04-06T13:00:00Z"`, `"2013-04-06T14:00:00Z"`, `"2013-11-02T08:30:00Z"`, `"2013-11-02T09:30:00Z"`}},
	{"summer and winter time", "shifted by +2 h", []string{
		`"2024-01-07 12:12:20"`, `"2024-01-07 13:12:20"`, `"2024-02-07 12:12:20"`, `"2024-02-07 13:12:20"`, `"2024-12-07 12:12:20"`, `"2024-12-07 13:12:20"`,
		`"2024-07-07 12:12:20"`, `"2024-07-07 14:12:20"`, `"2024-08-07 12:12:20"`, `"2024-08-07 14:12:20"`, `"2024-06-07 12:12:20"`, `"2024-06-07 14:12:20"`,
	}},
	{"India", "shifted by +5:30 h", []string{`"2024-01-07T12:12:20Z"`, `"2024-01-07T17:42:20Z"`, `"2024-02-07T22:12:20Z"`, `"2024-02-08T03:42:20Z"`, `"2024-03-07T00:00:00Z"`, `"2024-03-07T05:30:00Z"`}},
	{"an offset in place of Z", "same instant in another time zone", []string{`"2024-01-07T12:12:20Z"`, `"2024-01-07T13:12:20+01:00"`, `"2024-07-07T12:12:20Z"`, `"2024-07-07T14:12:20+02:00"`, `"2024-02-07T01:12:20Z"`, `"2024-02-07T02:12:20+01:00"`}},
	{"+00:00 in place of Z", "UTC is written otherwise", []string{`"2024-01-07T12:12:20Z"`, `"2024-01-07T12:12:20+00:00"`, `"2024-07-07T12:12:20Z"`, `"2024-07-07T12:12:20+00:00"`, `"2024-02-07T01:12:20Z"`, `"2024-02-07T01:12:20+00:00"`}},
	{"a time zone lost (data-peek 197)", "time zone is left out", []string{`"2024-01-07T12:12:20Z"`, `"2024-01-07T12:12:20"`, `"2024-07-07T12:12:20Z"`, `"2024-07-07T12:12:20"`, `"2024-02-07T01:12:20Z"`, `"2024-02-07T01:12:20"`}},
	{"the clock is kept and the zone swapped", "same clock reading", []string{`"2024-01-07T12:12:20+01:00"`, `"2024-01-07T12:12:20Z"`, `"2024-07-07T12:12:20+02:00"`, `"2024-07-07T12:12:20Z"`, `"2024-02-07T01:12:20+01:00"`, `"2024-02-07T01:12:20Z"`}},
	{"microseconds (built_value.dart 206)", "cut off to 3 digits", []string{`"2017-08-10 03:59:29.575328Z"`, `"2017-08-10 03:59:29.575Z"`, `"2017-08-11 13:59:29.123999Z"`, `"2017-08-11 13:59:29.123Z"`, `"2017-09-10 03:00:00.000001Z"`, `"2017-09-10 03:00:00.000Z"`}},
	{"no milliseconds (libhoney-rb 24)", "cut off to 0 digits", []string{`"2018-04-18T03:59:29.575Z"`, `"2018-04-18T03:59:29Z"`, `"2018-04-19T13:59:29.999Z"`, `"2018-04-19T13:59:29Z"`, `"2018-04-20T03:00:00.001Z"`, `"2018-04-20T03:00:00Z"`}},
	{"T for a space", "joined otherwise", []string{`"2018-04-18T03:59:29"`, `"2018-04-18 03:59:29"`, `"2018-04-19T13:59:29"`, `"2018-04-19 13:59:29"`, `"2018-04-20T03:00:00"`, `"2018-04-20 03:00:00"`}},
	{"a date a day early", "one day earlier", []string{`"2024-03-01"`, `"2024-02-29"`, `"2024-07-15"`, `"2024-07-14"`, `"2025-01-01"`, `"2024-12-31"`}},
	{"MM/DD", "day and month have changed places", []string{`"2024-03-01"`, `"2024-01-03"`, `"2024-07-05"`, `"2024-05-07"`, `"2025-12-02"`, `"2025-02-12"`}},
	{"YYYY for yyyy", "year is that of the week", []string{`"2024-12-30"`, `"2025-12-30"`, `"2024-12-31"`, `"2025-12-31"`, `"2019-12-31T10:00:00Z"`, `"2020-12-31T10:00:00Z"`}},
	{"epoch in s for ms", "in milliseconds is in seconds", []string{`1543269513000`, `1543269513`, `1543269514123`, `1543269514`, `1600000000500`, `1600000000.5`}},
	{"epoch in ms for s", "in seconds is in milliseconds", []string{`1543269513`, `1543269513000`, `1543269514`, `1543269514000`, `1600000000`, `1600000000000`}},
	{"ISO for epoch", "number of milliseconds since 1970 is a written time", []string{`1543269513000`, `"2018-11-26T21:58:33Z"`, `1600000000000`, `"2020-09-13T12:26:40Z"`, `1700000000000`, `"2023-11-14T22:13:20Z"`}},
	{"epoch for ISO", "a time is the number of seconds", []string{`"2018-11-26T21:58:33Z"`, `1543269513`, `"2020-09-13T12:26:40Z"`, `1600000000`, `"2023-11-14T22:13:20Z"`, `1700000000`}},
	{"epoch an hour off", "shifted by -1 h", []string{`1543269513`, `1543265913`, `1600000000`, `1599996400`, `1700000000`, `1699996400`}},
	{"toString of a date", "same time in another form", []string{`"2024-01-07T12:12:20Z"`, `"Sun, 07 Jan 2024 12:12:20 GMT"`, `"2024-01-08T12:12:20Z"`, `"Mon, 08 Jan 2024 12:12:20 GMT"`, `"2024-01-09T12:12:20Z"`, `"Tue, 09 Jan 2024 12:12:20 GMT"`}},

	// Texts.
	{"double UTF-8 (everything2 3042)", "read as Latin-1", []string{`"Åmål"`, `"Ã…mÃ¥l"`, `"Müller"`, `"MÃ¼ller"`, `"Ätschegäbele"`, `"Ã„tschegÃ¤bele"`}},
	{"Latin-1 bytes (Motus-TO-DO 2)", "in Latin-1", []string{`"Huîtrier"`, "\"Hu\xeetrier\"", `"Amérique"`, "\"Am\xe9rique\"", `"Döring"`, "\"D\xf6ring\""}},
	{"question marks (gbif/ipt 479)", "outside ASCII are lost", []string{`"Döring"`, `"D?ring"`, `"Müller"`, `"M?ller"`, `"Åmål"`, `"?m?l"`}},
	{"replacement characters", "outside ASCII are lost", []string{`"Döring"`, `"D�ring"`, `"Müller"`, `"M�ller"`, `"Åmål"`, `"�m�l"`}},
	{"an ASCII slug", "accents are left out", []string{`"Rene é"`, `"Rene e"`, `"Müller"`, `"Muller"`, `"Ángel"`, `"Angel"`}},
	{"file names from macOS", "NFD", []string{`"Müller"`, "\"Mu\u0308ller\"", `"é"`, "\"e\u0301\"", `"Ångström"`, "\"A\u030angstro\u0308m\""}},
	{"entities (lbry.go 51)", "HTML entities are written", []string{`"a & b"`, `"a &amp; b"`, `"x < y"`, `"x &lt; y"`, `"\"q\""`, `"&#34;q&#34;"`}},
	{"entities resolved", "HTML entities are resolved", []string{`"a &amp; b"`, `"a & b"`, `"x &lt; y"`, `"x < y"`, `"caf&eacute;"`, `"café"`}},
	{"\\u0026 escaped twice (gout 331)", "escapes are written out", []string{`"?a=1&b=1"`, `"?a=1\\u0026b=1"`, `"x&y"`, `"x\\u0026y"`, `"R&D"`, `"R\\u0026D"`}},
	{"umlauts escaped twice (wit 1252)", "escapes are written out", []string{`"münchen"`, `"m\\u00fcnchen"`, `"grün"`, `"gr\\u00fcn"`, `"köln"`, `"k\\u00f6ln"`}},
	{"URL encoding", "URL-encoded", []string{`"a b"`, `"a%20b"`, `"x&y"`, `"x%26y"`, `"ü"`, `"%C3%BC"`}},
	{"+ for a space", "URL is encoded otherwise", []string{`"/q?a=1%202"`, `"/q?a=1+2"`, `"/q?b=x%20y"`, `"/q?b=x+y"`, `"/q?c=%20"`, `"/q?c=+"`}},
	{"upper case enum", "lower case is upper case", []string{`"open"`, `"OPEN"`, `"paid"`, `"PAID"`, `"closed"`, `"CLOSED"`}},
	{"lower case mail", "upper case is lower case", []string{`"Ann@Example.org"`, `"ann@example.org"`, `"BOB@x.org"`, `"bob@x.org"`, `"Zoe@x.org"`, `"zoe@x.org"`}},
	{"camelCase enum", "words are joined otherwise", []string{`"IN_PROGRESS"`, `"inProgress"`, `"NOT_FOUND"`, `"notFound"`, `"ON_HOLD"`, `"onHold"`}},
	{"CHAR(10) trimmed", "white space at the ends is left out", []string{`"abc       "`, `"abc"`, `"de        "`, `"de"`, `"f         "`, `"f"`}},
	{"CHAR(10) padded", "white space is added", []string{`"abc"`, `"abc       "`, `"de"`, `"de        "`, `"f"`, `"f         "`}},
	{"no-break spaces", "no-break spaces", []string{`"1 000"`, "\"1\u00a0000\"", `"a b"`, "\"a\u00a0b\"", `"x y z"`, "\"x\u00a0y\u00a0z\""}},
	{"CRLF", "LF instead of CRLF", []string{`"a\r\nb"`, `"a\nb"`, `"c\r\nd\r\n"`, `"c\nd\n"`, `"\r\n"`, `"\n"`}},
	{"a byte order mark", "cannot be seen", []string{`"abc"`, "\"\ufeffabc\"", `"de"`, "\"\ufeffde\"", `"f"`, "\"\ufefff\""}},
	{"VARCHAR(10)", "cut off after 10 characters", []string{`"a name that is long"`, `"a name tha"`, `"Constantinople"`, `"Constantin"`, `"Llanfairpwllgwyn"`, `"Llanfairpw"`}},
	{"typographic quotes", "typographic", []string{`"it's"`, `"it’s"`, `"\"a\""`, `"“a”"`, `"1-2"`, `"1–2"`}},
	{"base64url", "base64 is in its other alphabet", []string{`"ab+/cdEFgh=="`, `"ab-_cdEFgh"`, `"zz//zzzzAA=="`, `"zz__zzzzAA"`, `"+abcdefghi=="`, `"-abcdefghi"`}},
	{"UUIDs without dashes", "the same UUID", []string{`"9b2f0c1e-1111-4222-8333-444455556666"`, `"9b2f0c1e111142228333444455556666"`, `"aaaaaaaa-1111-4222-8333-444455556667"`, `"aaaaaaaa111142228333444455556667"`, `"bbbbbbbb-1111-4222-8333-444455556668"`, `"bbbbbbbb111142228333444455556668"`}},
	{"http for https behind a proxy", "http and https", []string{`"https://x.org/a"`, `"http://x.org/a"`, `"https://x.org/b"`, `"http://x.org/b"`, `"https://x.org/c?d"`, `"http://x.org/c?d"`}},
	{"internal host names in links", "on another host", []string{`"https://x.org/a"`, `"https://svc.local:8080/a"`, `"https://x.org/b"`, `"https://svc.local:8080/b"`, `"https://x.org/c"`, `"https://svc.local:8080/c"`}},
	{"relative links", "absolute on one side", []string{`"https://x.org/a"`, `"/a"`, `"https://x.org/b"`, `"/b"`, `"https://x.org/c"`, `"/c"`}},
	{"a prefix of ids", "a prefix of 4 characters is left out", []string{`"usr_1234"`, `"1234"`, `"usr_889"`, `"889"`, `"usr_77120"`, `"77120"`}},

	// Lists.
	{"page from 0 (roadie 17)", "begins 3 elements later", []string{`[1,2,3,4,5,6]`, `[4,5,6,7,8,9]`, `[11,12,13,14,15,16]`, `[14,15,16,17,18,19]`, `[21,22,23,24,25,26]`, `[24,25,26,27,28,29]`}},
	{"offset off by one", "begins 1 elements later", []string{`[{"id":1},{"id":2},{"id":3},{"id":4}]`, `[{"id":2},{"id":3},{"id":4},{"id":5}]`, `[{"id":5},{"id":7},{"id":8},{"id":9}]`, `[{"id":7},{"id":8},{"id":9},{"id":12}]`, `[{"id":2},{"id":3},{"id":4},{"id":6}]`, `[{"id":3},{"id":4},{"id":6},{"id":8}]`}},
	{"a default limit", "always after 3 elements", []string{`[1,2,3,4,5]`, `[1,2,3]`, `[7,8,9,10]`, `[7,8,9]`, `[4,4,5,6,7,8]`, `[4,4,5]`}},
	{"< for <=", "the last element is left out", []string{`[1,2,3,4,5]`, `[1,2,3,4]`, `[7,8,9]`, `[7,8]`, `[4,5]`, `[4]`}},
	{"a loop from 1", "the first element is left out", []string{`[1,2,3,4,5]`, `[2,3,4,5]`, `[7,8,9]`, `[8,9]`, `[4,5,9,9]`, `[5,9,9]`}},
	{"a join without DISTINCT", "in the list twice", []string{`[1,2,3]`, `[1,1,2,3]`, `[7,8]`, `[7,7,8,8]`, `[4,5,6]`, `[4,5,5,6]`}},
	{"ORDER BY ... DESC lost", "reverse order", []string{`[5,4,3]`, `[3,4,5]`, `[9,2,1]`, `[1,2,9]`, `[8,7]`, `[7,8]`}},
	{"no ORDER BY", "the monolith sorts the list by name, ascending", []string{
		`[{"id":3,"name":"a"},{"id":1,"name":"b"},{"id":2,"name":"c"}]`, `[{"id":1,"name":"b"},{"id":3,"name":"a"},{"id":2,"name":"c"}]`,
		`[{"id":9,"name":"d"},{"id":4,"name":"k"},{"id":7,"name":"z"}]`, `[{"id":4,"name":"k"},{"id":7,"name":"z"},{"id":9,"name":"d"}]`,
		`[{"id":5,"name":"b"},{"id":8,"name":"e"},{"id":6,"name":"f"}]`, `[{"id":8,"name":"e"},{"id":5,"name":"b"},{"id":6,"name":"f"}]`,
	}},
	{"an empty list", "the list is empty", []string{`[1,2]`, `[]`, `[3]`, `[]`, `[4,4]`, `[]`}},

	// Nothing can be said of these, though something may look as if it could.
	{"two pairs are too few", "", []string{`"open"`, `"OPEN"`, `"paid"`, `"PAID"`}},
	{"other words", "", []string{`"open"`, `"waiting"`, `"paid"`, `"closed"`, `"new"`, `"old"`}},
	{"other names", "", []string{`"Ann"`, `"Bob"`, `"Zoe"`, `"Max"`, `"Eve"`, `"Kim"`}},
	{"other numbers", "", []string{`17`, `29`, `81`, `12`, `5`, `991`}},
	{"other prices", "", []string{`17.99`, `29.5`, `81.25`, `12.2`, `5.1`, `9.99`}},
	{"one pair again and again, by chance ten times", "", []string{`10`, `100`, `10`, `100`, `10`, `100`, `10`, `100`}},
	{"one pair again and again, by chance one less", "", []string{`5`, `4`, `5`, `4`, `5`, `4`}},
	{"one date again and again", "", []string{`"2024-03-01"`, `"2024-02-29"`, `"2024-03-01"`, `"2024-02-29"`, `"2024-03-01"`, `"2024-02-29"`}},
	{"other times", "", []string{`"2024-01-07T12:12:20Z"`, `"2024-01-07T12:19:21Z"`, `"2024-07-07T12:12:20Z"`, `"2024-07-01T14:12:29Z"`, `"2024-02-07T01:12:20Z"`, `"2024-02-09T02:13:20Z"`}},
	{"each by other hours", "", []string{`"2024-01-07T12:00:00Z"`, `"2024-01-07T15:00:00Z"`, `"2024-07-07T12:00:00Z"`, `"2024-07-07T10:00:00Z"`, `"2024-02-07T01:00:00Z"`, `"2024-02-07T09:00:00Z"`}},
	{"other ids", "", []string{`"9b2f0c1e-1111-4222-8333-444455556666"`, `"1b2f0c1e-1111-4222-8333-444455556666"`, `"aaaaaaaa-1111-4222-8333-444455556667"`, `"caaaaaaa-1111-4222-8333-444455556667"`, `"bbbbbbbb-1111-4222-8333-444455556668"`, `"dbbbbbbb-1111-4222-8333-444455556668"`}},
	{"other hashes", "", []string{`"5d41402abc4b2a76b9719d911017c592"`, `"7d793037a0760186574b0282f2f435e7"`, `"e2fc714c4727ee9395f324cd2e7f331f"`, `"900150983cd24fb0d6963f7d28e17f72"`, `"827ccb0eea8a706c4c34a16891f84e7b"`, `"01cfcd4f6b8770febfb40cb906715822"`}},
	{"only half are upper case", "", []string{`"open"`, `"OPEN"`, `"paid"`, `"PAID"`, `"closed"`, `"CLOSED"`, `"a"`, `"new"`, `"b"`, `"old"`, `"c"`, `"none"`}},
	{"lost values that are not empty", "", []string{`17`, ``, `"a"`, ``, `true`, ``}},
	{"null in place of values", "", []string{`"a"`, `null`, `17`, `null`, `"a"`, `null`}},
	{"lists with other elements", "", []string{`[1,2,3]`, `[1,9,3]`, `[4,5,6]`, `[4,5,8]`, `[7,8,9]`, `[7,0,9]`}},
	{"shuffled lists", "", []string{`[3,1,2,4]`, `[1,3,4,2]`, `[9,7,8,6]`, `[6,9,7,8]`, `[5,2,4,1]`, `[2,5,1,4]`}},
	{"sentences", "", []string{`"The order was sent."`, `"Your order is on its way"`, `"Not found."`, `"No such order"`, `"Try later."`, `"Please wait"`}},
	{"a wrong total", "", []string{`100.00`, `84.03`, `50.00`, `46.73`, `19.90`, `16.5`}},
	{"ids that are numbers", "", []string{`48211`, `48377`, `51002`, `50218`, `60001`, `61990`}},
	{"versions", "", []string{`"1.10.2"`, `"1.2.10"`, `"2.0.1"`, `"2.1.0"`, `"3.3.3"`, `"3.4.1"`}},
}

// realTexts are faults of bodies that are compared by their bytes.
var realTexts = []causeCase{
	{"no newline at the end", "end of the last line", []string{"a,b\n", "a,b", "c,d\n", "c,d", "e\n", "e"}},
	{"CRLF in CSV", "LF instead of CRLF", []string{"a,b\r\nc,d\r\n", "a,b\nc,d\n", "x\r\ny\r\n", "x\ny\n", "1\r\n2\r\n", "1\n2\n"}},
	{"JSON compared by its bytes", "the same JSON, written otherwise", []string{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `[1,2]`, `[1, 2]`, `{"u":"a/b"}`, `{"u":"a\/b"}`}},
	{"escaped entities in a page", "HTML entities", []string{"<p>it's</p>", "<p>it&#39;s</p>", "<p>a'b</p>", "<p>a&#39;b</p>", "<p>'</p>", "<p>&#39;</p>"}},
	{"a byte order mark", "cannot be seen", []string{"id;name", "\ufeffid;name", "1;a", "\ufeff1;a", "x", "\ufeffx"}},
	{"an amount in a text", "trailing zeros are left out", []string{"You owe 1.50 EUR.", "You owe 1.5 EUR.", "You owe 20.00 EUR.", "You owe 20 EUR.", "You owe 7.10 EUR.", "You owe 7.1 EUR."}},
	{"a time in a text", "shifted by +2 h", []string{"at 2024-07-07T10:00:00Z, by A", "at 2024-07-07T12:00:00Z, by A", "at 2024-07-08T11:30:00Z, by B", "at 2024-07-08T13:30:00Z, by B", "at 2024-07-09T23:00:00Z", "at 2024-07-10T01:00:00Z"}},
	{"double UTF-8 in a page", "read as Latin-1", []string{"Grüße", "GrÃ¼ÃŸe", "Öl", "Ã–l", "für", "fÃ¼r"}},
	{"no body", "", []string{"<a href=a>Found</a>", "", "<a href=b>Found</a>", "", "<a href=c>Found</a>", ""}},
	{"other sentences", "", []string{"The order was sent.", "Your order is on its way", "Not found.", "No such order", "Try later.", "Please wait"}},
	{"an unrelated number", "", []string{"You owe 1.50 EUR.", "You owe 2.75 EUR.", "You owe 20.00 EUR.", "You owe 11 EUR.", "You owe 7.10 EUR.", "You owe 9.3 EUR."}},
}

// guessed judges a case's pairs and gives the first cause that is guessed.
func guessed(t *testing.T, kind whittle.CompareKind, c causeCase) string {
	t.Helper()
	j, err := NewJudge(whittle.Comparison{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	body := func(v string) []byte {
		switch {
		case kind == whittle.Exact:
			return []byte(v)
		case v == "":
			return []byte(`{"id":1}`)
		}
		return []byte(`{"id":1,"v":` + v + `}`)
	}
	for i := 0; i+1 < len(c.pairs); i += 2 {
		j.Observe(&whittle.Exchange{
			At: comparetest.Start.Add(time.Duration(i) * time.Second), Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/a/%d", i)},
			Monolith: whittle.Response{Status: 200, Body: body(c.pairs[i])}, Candidate: whittle.Response{Status: 200, Body: body(c.pairs[i+1])},
		})
	}
	v := j.Verdict()
	all := ""
	for _, f := range v.Findings {
		if at := strings.Index(f.Cause, "a guess: "); at >= 0 {
			all = joined(all, f.Cause[at+len("a guess: "):])
		}
	}
	return all
}

// TestCausesOfRealBugs: the cause that is guessed is the right one, or none. What
// is guessed wrongly is 0; docs/compare.md has the counts.
func TestCausesOfRealBugs(t *testing.T) {
	right, none, wrong := 0, 0, 0
	for kind, list := range map[whittle.CompareKind][]causeCase{whittle.JSON: realBugs, whittle.Exact: realTexts} {
		for _, c := range list {
			got := guessed(t, kind, c)
			switch {
			case c.cause == "" && got == "", c.cause != "" && strings.Contains(got, c.cause):
				right++
			case got == "":
				none++
				t.Errorf("%s: no cause, want %q", c.name, c.cause)
			default:
				wrong++
				t.Errorf("%s: %q, want %q", c.name, got, c.cause)
			}
		}
	}
	t.Logf("of %d: %d right, %d without a cause, %d wrong", right+none+wrong, right, none, wrong)
}
