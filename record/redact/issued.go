package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Keys and tokens are secret wherever they stand if their issuers mark them by a
// prefix, which they do so that leaks can be found. The prefixes are the ones
// that the issuers document. Keys that are public by design (Stripe's pk_live_)
// are not among them.

// alphabet says of which bytes the rest of a key is made.
type alphabet uint8

const (
	letters  alphabet = iota // letters and digits
	url64                    // and "-", "_"
	dotted                   // and "."
	standard                 // url64 and "+", "/", "="
	hexLower                 // 0 to 9, a to f
	base32                   // A to Z, 2 to 7 (RFC 4648)
	capitals                 // A to Z, 0 to 9, "-"
	hexDash                  // 0 to 9, a to f, "-"
	wide                     // standard and ".", "$", "@", ":"
	escaped                  // standard and "%"
	caret                    // wide and "#", "^"
)

func (a alphabet) has(c byte) bool {
	switch a {
	case hexLower:
		return isDigit(c) || c >= 'a' && c <= 'f'
	case base32:
		return c >= '2' && c <= '7' || c >= 'A' && c <= 'Z'
	case capitals:
		return isDigit(c) || c >= 'A' && c <= 'Z' || c == '-'
	case hexDash:
		return hexLower.has(c) || c == '-'
	}
	switch {
	case isLetter(c), isDigit(c):
		return true
	case c == '-', c == '_':
		return a != letters
	case c == '.':
		return a == dotted || a == wide || a == caret
	case c == '+', c == '/', c == '=':
		return a >= standard
	case c == '$', c == '@', c == ':':
		return a == wide || a == caret
	case c == '%':
		return a == escaped
	case c == '#', c == '^':
		return a == caret
	}
	return false
}

// doubt says what else a key must have, where its prefix begins other words too.
type doubt uint8

const (
	none  doubt = iota
	mixed       // a small letter, a capital and a digit
	digit       // a digit
	exact       // as mixed, and no byte more
	short       // as mixed, and at most 50 bytes more
)

// issued is a form of keys: a prefix, and at least so many bytes after it.
type issued struct {
	prefix string
	rest   alphabet
	least  int
	doubt  doubt
	at     int // where the prefix has its mark
}

// issuers are the forms by what follows their prefixes, which stand in one text.
var issuers = []struct {
	rest     alphabet
	least    int
	doubt    doubt
	prefixes string
}{
	// payments and shops
	{letters, 8, none, "sk_live_ sk_test_ rk_live_ rk_test_"},
	{letters, 10, none, "rzp_live_ rzp_test_"},
	{letters, 16, none, "live_sk_ test_sk_ key_live_ shippo_live_ shippo_test_ shpat_ shpca_ shppa_ shpss_"},
	{url64, 12, none, "FLWSECK- FLWSECK_TEST-"},
	{url64, 16, none, "sq0atp- sq0csp- duffel_live_ duffel_test_"},
	{url64, 20, digit, "access-production- access-sandbox-"},
	{url64, 40, mixed, "EAAA"},
	{letters, 16, none, "ek_live_ ek_test_"},
	{letters, 50, mixed, "EZAK EZTK"},
	{url64, 40, digit, "APP_USR-"},
	{standard, 8, none, "whsec_"},
	{wide, 40, none, "access_token$production$ access_token$sandbox$"},
	{letters, 16, digit, "skey_ skey_test_"},
	{letters, 20, none, "sk_sbox_"},
	{letters, 24, none, "xnd_production_ xnd_development_"},
	{letters, 30, digit, "live_ test_"},
	{url64, 16, none, "Mid-server-"},
	{url64, 24, none, "pdl_live_apikey_ pdl_sdbx_apikey_"},
	{url64, 30, digit, "secret-live- secret-test-"},
	{hexLower, 40, digit, "ck_ cs_"},
	{standard, 40, none, "Atzr|Iw Atza|Iw"},
	{hexLower, 40, none, "amzn1.oa2-cs.v1."},
	{hexDash, 30, digit, "PRD- SBX-"}, // eBay
	{caret, 60, none, "v^1.1#"},

	// code hosts, packages and builds
	{letters, 8, none, "ghp_ gho_ ghu_ ghs_ ghr_"},
	{letters, 16, none, "bkua_ lin_api_ lin_oauth_ dp.pt. dp.ct. dp.sa."},
	{letters, 20, digit, "npm_"},
	{letters, 16, none, "sm_pat_ sm_aat_"},
	{letters, 30, none, "ddp_ pnu_ pnb_"},
	{letters, 40, digit, "oy2"},
	{letters, 40, none, "cmVmdGtuOjAxOj"},
	{capitals, 25, digit, "API-"},
	{hexDash, 36, digit, "sdk- api- mob- waka_"},
	{letters, 20, none, "CLOJARS_ rdme_"},
	{letters, 24, digit, "ntn_"},
	{letters, 24, mixed, "ATBB"},
	{letters, 30, mixed, "AKCp"},
	{letters, 32, mixed, "secret_"},
	{url64, 12, none, "gldt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-"},
	{url64, 16, none, "github_pat_ GR1348941 pypi-AgE dckr_pat_ dckr_oat_ CCIPAT_ figd_"},
	{url64, 20, digit, "tfp_"},
	{url64, 20, none, "CFPAT- PMAK- PMAT-"},
	{url64, 24, none, "pat-na1- pat-eu1-"},
	{dotted, 12, none, "glpat- glrt-"},
	{dotted, 16, none, "dp.st."},
	{standard, 20, none, "sntrys_"},
	{standard, 24, none, "ATATT3 ATCTT3"},
	{hexLower, 16, none, "rubygems_"},
	{hexLower, 40, none, "sgp_ e2b_ s-s4t2ud-"},
	{hexLower, 20, none, "squ_ sqp_ sqa_ sntryu_"},
	{hexLower, 60, none, "packagist_ort_ packagist_out_ packagist_uut_"},
	{letters, 22, mixed, "ser."},
	{letters, 30, mixed, "ddw_ jsrp_"},
	{letters, 32, mixed, "cio"},
	{letters, 60, digit, "ATTA"},
	{dotted, 40, none, "snyk_uat."},
	{url64, 24, none, "pat-ap1- pat-eu2- pat-na2- pat-na3-"},
	{url64, 30, none, "dbtc_ dbtu_"},
	{url64, 32, digit, "p8e-"},

	// clouds and what runs on them
	{letters, 12, mixed, "LTAI"},
	{letters, 20, digit, "nfp_"},
	{letters, 20, none, "AGE-SECRET-KEY-1 NRAK-"},
	{letters, 24, digit, "napi_"},
	{letters, 24, mixed, "AKID rnd_"},
	{letters, 24, none, "hcaik_"},
	{letters, 24, digit, "aio_ ico- xau_"},
	{capitals, 30, digit, "A3-"},
	{dotted, 60, mixed, "pat."},
	{dotted, 80, none, "ops_eyJ"},
	{url64, 40, mixed, "tk-us- fio-u-"},
	{url64, 40, none, "zpka_"},
	{hexLower, 19, none, "NRJS-"},
	{hexDash, 150, none, "v1.0-"},
	{dotted, 60, mixed, "v1.local. v2.local. v3.local. v4.local."},
	{url64, 12, none, "sb_secret_"},
	{url64, 16, none, "AIza ya29. GOCSPX- vercel_blob_rw_ tskey-"},
	{url64, 20, none, "hvs. hvb. hvr. HRKU- glsa_ NRII-"},
	{url64, 24, none, "1//0 fo1_ phx_"},
	{url64, 30, mixed, "AQVN y0_"},
	{dotted, 16, none, "pscale_tkn_ pscale_pw_ pscale_oauth_"},
	{dotted, 24, none, "dt0c01. dt0s01."},
	{standard, 24, none, "fm2_ glc_"},
	{hexLower, 16, none, "dop_v1_ doo_v1_ dor_v1_"},
	{hexLower, 24, none, "sbp_"},
	{hexLower, 32, digit, "pul-"},
	{hexLower, 32, none, "dapi"},
	{base32, 12, none, "AKIA"},
	{capitals, 17, digit, "SCW"},
	{capitals, 50, none, "GOOG1E"},
	{letters, 24, mixed, "vca_ vci_ vck_ vcp_ vcr_"},
	{letters, 40, mixed, "AKLT cfat_ cfk_ cfut_"},
	{url64, 37, mixed, "fnA"},
	{url64, 40, none, "AQ.Ab8R mdb_sa_sk_"},
	{url64, 40, mixed, "4/0A CCDB1_"},
	{dotted, 60, mixed, "sat."},
	{dotted, 65, digit, "1000."},
	{dotted, 85, digit, "st."},
	{dotted, 100, mixed, "t1.9eu"},
	{standard, 24, none, "fm1a_ fm1r_"},
	{standard, 40, mixed, "essu_"},
	{standard, 60, mixed, "ABSK"},
	{standard, 100, none, "IQoJb3JpZ2lu"},
	{hexLower, 60, none, "mzp_"},
	{letters, 24, exact, "s. b."}, // Vault before 1.10
	{standard, 60, none, "AQoDYXdz FQoDYXdz FQoGZXIvYXdz FwoGZXIvYXdz"},
	{url64, 38, exact, "YC"}, // Yandex
	{hexDash, 36, digit, "xaat- xapt-"},
	{base32, 16, digit, "ASIA ABIA ACCA"},

	// messages, mail, models
	{escaped, 60, short, "AAAAAAAAAAAAAAAAAAAAA"}, // X
	{letters, 30, none, "hf_"},
	{letters, 24, mixed, "r8_ gsk_ xai- pplx-"},
	{letters, 40, mixed, "EAAB EAAC EAAG IGQV"},
	{url64, 8, digit, "xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs-"},
	{url64, 16, digit, "xapp-"},
	{url64, 20, digit, "sk-lf-"},
	{url64, 20, mixed, "sk-"},
	{url64, 24, mixed, "re_ nvapi-"},
	{url64, 24, none, "xkeysib- xsmtpsib- pcsk_ tgp_v1_"},
	{letters, 32, digit, "csk- tvly- jina_ cu_"},
	{letters, 24, mixed, "esecret_ fw_"},
	{letters, 30, mixed, "api_org_ pina_"},
	{letters, 40, mixed, "IGAA IGQW llx- rpa_ sess-"},
	{url64, 22, mixed, "md-"},
	{url64, 40, mixed, "pa- sec-c- wandb_v1_"},
	{hexLower, 32, digit, "fc-"},
	{hexLower, 40, digit, "sk_ rootly_"},
	{url64, 40, none, "lsv2_pt_ lsv2_sk_"},
	{dotted, 16, none, "xoxe."},
	{url64, 100, mixed, "sl."},
	{dotted, 24, none, "sk.eyJ tk.eyJ"},
	{dotted, 32, mixed, "SG."},
	{standard, 8, none, "xoxd-"},
	{standard, 20, none, "hooks.slack.com/services/ discord.com/api/webhooks/ discordapp.com/api/webhooks/"},
	{standard, 10, none, "hooks.zapier.com/hooks/catch/"},
	{wide, 40, none, "webhook.office.com/webhookb2/"},
	{hexLower, 24, none, "mlsn."},
	{hexLower, 32, none, "SK key- sk-or-v1-"},

	// money and identities of their holders' own
	{letters, 50, digit, "nsec1"},
	{letters, 100, none, "xprv9 yprv zprv tprv8"},

	// Django's hashes of passwords
	{wide, 40, none, "pbkdf2_sha256$ pbkdf2_sha1$ bcrypt_sha256$ scrypt$"},

	// single sign-on: CAS protocol 3.0, section 3
	{url64, 20, digit, "ST- PT- TGT- PGT- PGTIOU-"},
}

// inner is a form of keys with its issuer's mark in the middle or at the end: n bytes
// before the mark, which begin with a word, and at least m after it.
type inner struct {
	begin  string
	before alphabet
	n      int
	mark   string
	after  alphabet
	m      int // 0: the key ends with the mark
}

// innerAt is one whose mark has its first byte of marks at that place.
type innerAt struct {
	inner
	at int
}

// within are these forms.
var within = []inner{
	{"pat", letters, 17, ".", hexLower, 64},   // Airtable
	{"", letters, 14, ".atlasv1.", url64, 60}, // Terraform Cloud
	{"", letters, 76, "AZDO", letters, 4},     // Azure DevOps
	{"", letters, 3, "8Q~", wide, 30},         // Azure, a client's secret
	{"", url64, 11, ":APA91b", url64, 100},    // Firebase
	{"", hexLower, 36, "NRAL", letters, 0},    // New Relic
	{"", url64, 36, "_mmk", letters, 0},       // MaxMind
	{"00D", letters, 15, "!AQ", dotted, 70},   // Salesforce
	{"00D", letters, 18, "!AQ", dotted, 70},
	// Azure: Search, Functions, Container Registry, Storage, Cosmos DB, Batch, Service Bus, Event Hubs, Redis, IoT, Event Grid
	{"", letters, 42, "AzSe", letters, 6},
	{"", url64, 44, "AzFu", wide, 6},
	{"", standard, 42, "+ACR", letters, 6},
	{"", standard, 76, "+ASt", standard, 6},
	{"", standard, 76, "ACDb", standard, 6},
	{"", standard, 76, "+ABa", standard, 6},
	{"", standard, 33, "+ASb", standard, 5},
	{"", standard, 33, "+AEh", standard, 5},
	{"", standard, 33, "AzCa", standard, 5},
	{"", standard, 33, "AIoT", standard, 5},
	{"", standard, 33, "AZEG", standard, 5},
}

// withinBy has them by the first byte of marks in their mark and the byte after it, which
// is one of the key's where the mark ends there.
var withinBy = func() (by [256]*[256][]innerAt) {
	for _, of := range within {
		f := innerAt{inner: of, at: strings.IndexAny(of.mark, marks)}
		c := f.mark[f.at]
		if by[c] == nil {
			by[c] = new([256][]innerAt)
		}
		for next := range 256 {
			if f.at+1 < len(f.mark) && byte(next) == f.mark[f.at+1] || f.at+1 == len(f.mark) && f.after.has(byte(next)) {
				by[c][next] = append(by[c][next], f)
			}
		}
	}
	return by
}()

// keyWithin looks at a mark for such a key, and gives where it ended, 0 where there
// is none.
func (t *scan) keyWithin(i int) int {
	b, forms := t.src, withinBy[t.src[i]]
	if forms == nil || i+1 == len(b) {
		return 0
	}
	for k := range forms[b[i+1]] {
		f := &forms[b[i+1]][k]
		mark := i - f.at
		start := mark - f.n
		if start < t.from || !bytes.HasPrefix(b[mark:], []byte(f.mark)) || !bytes.HasPrefix(b[start:], []byte(f.begin)) {
			continue
		}
		after := mark + len(f.mark)
		end := after
		for end < len(b) && f.after.has(b[end]) {
			end++
		}
		t.w.looked += end - start
		if t.begins(start) && all(b[start:mark], f.before) &&
			end-after >= f.m && (f.m > 0 || end == after) {
			return t.replace(start, end)
		}
	}
	return 0
}

// all reports whether all bytes are of an alphabet.
func all(b []byte, of alphabet) bool {
	for _, c := range b {
		if !of.has(c) {
			return false
		}
	}
	return true
}

// marks are the bytes by which a prefix is found: the first of them in it.
const marks = "_-./AKQYZ"

// issuersBy has the forms of keys by their mark, and by the byte before it; by
// the one after it for those that begin with it. unmarked have none, and have
// their first digit in the rest. withSlash have a slash in their prefix.
var issuersBy, unmarked, withSlash = func() (by [256]*[256][]issued, unmarked, withSlash []issued) {
	var all []issued
	for _, of := range issuers {
		for prefix := range strings.FieldsSeq(of.prefixes) {
			all = append(all, issued{prefix, of.rest, of.least, of.doubt, strings.IndexAny(prefix, marks)})
		}
	}
	// The longest first: sk- begins sk-or-v1- too.
	slices.SortStableFunc(all, func(a, b issued) int { return len(b.prefix) - len(a.prefix) })
	for _, f := range all {
		if strings.Contains(f.prefix, "/") {
			withSlash = append(withSlash, f)
		}
		i := f.at
		if i < 0 {
			unmarked = append(unmarked, f)
			continue
		}
		mark, neighbour := f.prefix[i], f.prefix[max(i-1, 0)]
		if i == 0 {
			neighbour = f.prefix[1]
		}
		if by[mark] == nil {
			by[mark] = new([256][]issued)
		}
		by[mark][neighbour] = append(by[mark][neighbour], f)
	}
	return by, unmarked, withSlash
}()

// issued looks at a mark for a key that an issuer marked, and gives where it
// ended, 0 where there is none.
func (t *scan) issued(i int) int {
	if !t.w.r.credential {
		return 0
	}
	if end := t.keyWithin(i); end > 0 {
		return end
	}
	b, forms := t.src, issuersBy[t.src[i]]
	if forms == nil {
		return 0
	}
	if i > 0 {
		for k := range forms[b[i-1]] {
			f := &forms[b[i-1]][k]
			if end := t.issuedBy(f, i-f.at); end > 0 {
				return end
			}
		}
	}
	if i+1 < len(b) {
		for k := range forms[b[i+1]] {
			if end := t.issuedBy(&forms[b[i+1]][k], i); end > 0 {
				return end
			}
		}
	}
	return 0
}

// issuedBy replaces the key of one form that begins at start.
func (t *scan) issuedBy(f *issued, start int) int {
	b := t.src
	if start < t.from || !bytes.HasPrefix(b[start:], []byte(f.prefix)) || !t.begins(start) {
		return 0
	}
	end := start + len(f.prefix)
	var small, capital, number bool
	for ; end < len(b) && f.rest.has(b[end]); end++ {
		small = small || b[end] >= 'a' && b[end] <= 'z'
		capital = capital || b[end] >= 'A' && b[end] <= 'Z'
		number = number || isDigit(b[end])
	}
	t.w.looked += end - start
	for f.rest == dotted && b[end-1] == '.' {
		end-- // the end of a sentence
	}
	switch {
	case end-start-len(f.prefix) < f.least,
		f.doubt == digit && !number,
		f.doubt >= mixed && f.doubt != digit && (!number || !small || !capital),
		f.doubt == exact && end-start-len(f.prefix) > f.least,
		f.doubt == short && end-start-len(f.prefix) > f.least+50:
		return 0
	}
	return t.replace(start, end)
}

// begins reports whether a word begins at i: after no letter and no digit,
// unless these are of an escape.
func (t *scan) begins(i int) bool {
	b := t.src
	if i == 0 || !isLetter(b[i-1]) && !isDigit(b[i-1]) {
		return true
	}
	switch {
	case i >= 2 && b[i-2] == '\\':
		return true
	case i >= 3 && b[i-3] == '%':
		return unhex(b[i-1]) >= 0 && unhex(b[i-2]) >= 0
	}
	return i >= 6 && b[i-6] == '\\' && b[i-5] == 'u'
}

// dash looks at a dash: it may begin a key in PEM, or be the mark of another.
func (t *scan) dash(i int) int {
	b := t.src
	if end := t.issued(i); end > 0 {
		return end
	}
	if end := t.flag(i); end > 0 {
		return end
	}
	const longestLabel = 64
	if t.w.r.credential && bytes.HasPrefix(b[i:], []byte(pemBegin)) &&
		bytes.Contains(b[i:min(len(b), i+longestLabel)], []byte("PRIVATE KEY")) {
		end := pemEnd(b, i)
		t.w.looked += end - i
		return t.replace(i, end)
	}
	if t.w.r.credential && bytes.HasPrefix(b[i:], []byte("-us")) && i+3 < len(b) && isDigit(b[i+3]) {
		return t.mailKey(i)
	}
	return 0
}

// flag looks for a flag of a command that is called as a secret is, with its value
// behind a blank, as in --api-key 4f1c…: a word of at least 8 letters and digits.
func (t *scan) flag(i int) int {
	b := t.src
	if !bytes.HasPrefix(b[i:], []byte("--")) || i > 0 && b[i-1] > ' ' && quoteBefore(b, i) == "" {
		return 0
	}
	end := i + len("--")
	for end < len(b) && end-i < maxName && (isLetter(b[end]) || isDigit(b[end]) || b[end] == '-' || b[end] == '_' || b[end] == '.') {
		end++
	}
	t.w.looked += end - i
	if end == len(b) || !isBlank(b[end]) || !t.w.secretPath(b[i+len("--"):end]) {
		return 0
	}
	start := end + 1
	if q := quoteAt(b, start); q != "" {
		return t.quotedValue(start, q)
	}
	end = wordEnd(b, start)
	t.w.looked += end - start
	if word := b[start:end]; len(word) < 8 || !bytes.ContainsAny(word, "0123456789") {
		return 0 // a word of a manual
	}
	return t.replace(start, end)
}

// mailKey looks for Mailchimp's keys: 32 hexadecimal digits, a dash and a data
// centre.
func (t *scan) mailKey(i int) int {
	const length = 32
	start := i - length
	if start < t.from || !t.begins(start) {
		return 0
	}
	for _, c := range t.src[start:i] {
		if !hexLower.has(c) {
			return 0
		}
	}
	return t.replace(start, digits(t.src, i+len("-us")))
}

// dot looks for Discord's keys, three parts of base64url of which the first is
// a number of 17 to 20 digits, or for the mark of another.
func (t *scan) dot(i int) int {
	if end := t.issued(i); end > 0 {
		return end
	}
	const middle, last, longest = 6, 27, 28
	b := t.src
	if !t.w.r.credential || i+middle+1+last >= len(b) || b[i+1+middle] != '.' {
		return 0
	}
	start := i
	for start > t.from && i-start < longest && url64.has(b[start-1]) {
		start--
	}
	t.w.looked += i - start
	if i-start < 23 || b[start] < 'M' || b[start] > 'O' || !t.begins(start) {
		return 0
	}
	end := i + middle + 2
	for end < len(b) && url64.has(b[end]) {
		end++
	}
	t.w.looked += end - i
	if end-i < middle+2+last {
		return 0
	}
	return t.replace(start, end)
}

// botKey looks for Telegram's keys: 8 to 10 digits from i to run, a colon and 35
// bytes of which the first two are capitals A.
func (t *scan) botKey(i, run int) int {
	b, n := t.src, run-i
	if !t.w.r.credential || n < 8 || n > 10 || !bytes.HasPrefix(b[run:], []byte(":AA")) {
		return 0
	}
	end := run + 1
	for end < len(b) && url64.has(b[end]) {
		end++
	}
	t.w.looked += end - i
	if end-run < 30 {
		return 0
	}
	return t.replace(i, end)
}

// gidKey looks for Asana's keys: an id of 15 to 19 digits from i to run, a colon and 32
// hexadecimal digits.
func (t *scan) gidKey(i, run int) int {
	const length = 32
	b, n, end := t.src, run-i, run+1+length
	if !t.w.r.credential || n < 15 || n > 19 || end > len(b) || b[run] != ':' || end < len(b) && (isLetter(b[end]) || isDigit(b[end])) {
		return 0
	}
	t.w.looked += length
	if !all(b[run+1:end], hexLower) {
		return 0
	}
	return t.replace(i, end)
}

// unmarkedKey looks for a key whose first digit is at i and whose prefix has no
// mark.
func (t *scan) unmarkedKey(i int) int {
	if !t.w.r.credential || i == 0 || !isLetter(t.src[i-1]) {
		return 0
	}
	const longest = 40
	start := i
	for start > t.from && i-start < longest && isLetter(t.src[start-1]) {
		start--
	}
	t.w.looked += i - start
	for k := range unmarked {
		if end := t.issuedBy(&unmarked[k], start); end > 0 {
			return end
		}
	}
	return 0
}
