package redact

import "bytes"

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
)

func (a alphabet) has(c byte) bool {
	switch a {
	case hexLower:
		return isDigit(c) || c >= 'a' && c <= 'f'
	case base32:
		return c >= '2' && c <= '7' || c >= 'A' && c <= 'Z'
	}
	switch {
	case isLetter(c), isDigit(c):
		return true
	case c == '-', c == '_':
		return a != letters
	case c == '.':
		return a == dotted
	case c == '+', c == '/', c == '=':
		return a == standard
	}
	return false
}

// doubt says what else a key must have, where its prefix begins other words too.
type doubt uint8

const (
	none  doubt = iota
	mixed       // a small letter, a capital and a digit
	digit       // a digit
)

// issued is a form of keys: a prefix, and at least so many bytes after it.
type issued struct {
	prefix string
	rest   alphabet
	least  int
	doubt  doubt
}

var issuers = []issued{
	// payments and shops
	{"sk_live_", letters, 8, none},
	{"sk_test_", letters, 8, none},
	{"rk_live_", letters, 8, none},
	{"rk_test_", letters, 8, none},
	{"whsec_", standard, 8, none},
	{"live_sk_", letters, 16, none},
	{"test_sk_", letters, 16, none},
	{"key_live_", letters, 16, none},
	{"rzp_live_", letters, 10, none},
	{"rzp_test_", letters, 10, none},
	{"sq0atp-", url64, 16, none},
	{"sq0csp-", url64, 16, none},
	{"EAAA", url64, 40, mixed},
	{"FLWSECK-", url64, 12, none},
	{"FLWSECK_TEST-", url64, 12, none},
	{"access-production-", url64, 20, digit},
	{"access-sandbox-", url64, 20, digit},
	{"shippo_live_", letters, 16, none},
	{"shippo_test_", letters, 16, none},
	{"duffel_live_", url64, 16, none},
	{"duffel_test_", url64, 16, none},
	{"shpat_", letters, 16, none},
	{"shpca_", letters, 16, none},
	{"shppa_", letters, 16, none},
	{"shpss_", letters, 16, none},

	// code hosts, packages and builds
	{"ghp_", letters, 8, none},
	{"gho_", letters, 8, none},
	{"ghu_", letters, 8, none},
	{"ghs_", letters, 8, none},
	{"ghr_", letters, 8, none},
	{"github_pat_", url64, 16, none},
	{"glpat-", dotted, 12, none},
	{"gldt-", url64, 12, none},
	{"glrt-", dotted, 12, none},
	{"glrtr-", url64, 12, none},
	{"glcbt-", url64, 12, none},
	{"glptt-", url64, 12, none},
	{"glft-", url64, 12, none},
	{"glimt-", url64, 12, none},
	{"glagent-", url64, 12, none},
	{"gloas-", url64, 12, none},
	{"glsoat-", url64, 12, none},
	{"GR1348941", url64, 16, none},
	{"ATATT3", standard, 24, none},
	{"ATCTT3", standard, 24, none},
	{"ATBB", letters, 24, mixed},
	{"npm_", letters, 20, digit},
	{"pypi-AgE", url64, 16, none},
	{"rubygems_", hexLower, 16, none},
	{"CLOJARS_", letters, 20, none},
	{"dckr_pat_", url64, 16, none},
	{"dckr_oat_", url64, 16, none},
	{"AKCp", letters, 30, mixed},
	{"CCIPAT_", url64, 16, none},
	{"bkua_", letters, 16, none},
	{"squ_", hexLower, 20, none},
	{"sqp_", hexLower, 20, none},
	{"sqa_", hexLower, 20, none},
	{"sntrys_", standard, 20, none},
	{"sntryu_", hexLower, 20, none},
	{"CFPAT-", url64, 20, none},
	{"figd_", url64, 16, none},
	{"lin_api_", letters, 16, none},
	{"lin_oauth_", letters, 16, none},
	{"ntn_", letters, 24, digit},
	{"secret_", letters, 32, mixed},
	{"tfp_", url64, 20, digit},
	{"PMAK-", url64, 20, none},
	{"PMAT-", url64, 20, none},
	{"rdme_", letters, 20, none},
	{"dp.pt.", letters, 16, none},
	{"dp.st.", dotted, 16, none},
	{"dp.ct.", letters, 16, none},
	{"dp.sa.", letters, 16, none},
	{"pat-na1-", url64, 24, none},
	{"pat-eu1-", url64, 24, none},

	// clouds and what runs on them
	{"AKIA", base32, 12, none},
	{"ASIA", base32, 16, digit},
	{"ABIA", base32, 16, digit},
	{"ACCA", base32, 16, digit},
	{"AIza", url64, 16, none},
	{"ya29.", url64, 16, none},
	{"GOCSPX-", url64, 16, none},
	{"1//0", url64, 24, none},
	{"LTAI", letters, 12, mixed},
	{"AKID", letters, 24, mixed},
	{"AQVN", url64, 30, mixed},
	{"y0_", url64, 30, mixed},
	{"dop_v1_", hexLower, 16, none},
	{"doo_v1_", hexLower, 16, none},
	{"dor_v1_", hexLower, 16, none},
	{"hvs.", url64, 20, none},
	{"hvb.", url64, 20, none},
	{"hvr.", url64, 20, none},
	{"pul-", hexLower, 32, digit},
	{"HRKU-", url64, 20, none},
	{"nfp_", letters, 20, digit},
	{"fm2_", standard, 24, none},
	{"fo1_", url64, 24, none},
	{"rnd_", letters, 24, mixed},
	{"vercel_blob_rw_", url64, 16, none},
	{"pscale_tkn_", dotted, 16, none},
	{"pscale_pw_", dotted, 16, none},
	{"pscale_oauth_", dotted, 16, none},
	{"sbp_", hexLower, 24, none},
	{"sb_secret_", url64, 12, none},
	{"napi_", letters, 24, digit},
	{"dapi", hexLower, 32, none},
	{"tskey-", url64, 16, none},
	{"AGE-SECRET-KEY-1", letters, 20, none},
	{"glsa_", url64, 20, none},
	{"glc_", standard, 24, none},
	{"NRAK-", letters, 20, none},
	{"NRII-", url64, 20, none},
	{"dt0c01.", dotted, 24, none},
	{"dt0s01.", dotted, 24, none},
	{"phx_", url64, 24, none},
	{"hcaik_", letters, 24, none},

	// messages, mail, models
	{"xoxa-", url64, 8, digit},
	{"xoxb-", url64, 8, digit},
	{"xoxc-", url64, 8, digit},
	{"xoxd-", standard, 8, none},
	{"xoxe-", url64, 8, digit},
	{"xoxo-", url64, 8, digit},
	{"xoxp-", url64, 8, digit},
	{"xoxr-", url64, 8, digit},
	{"xoxs-", url64, 8, digit},
	{"xoxe.", dotted, 16, none},
	{"xapp-", url64, 16, digit},
	{"hooks.slack.com/services/", standard, 20, none},
	{"discord.com/api/webhooks/", standard, 20, none},
	{"discordapp.com/api/webhooks/", standard, 20, none},
	{"SG.", dotted, 32, mixed},
	{"SK", hexLower, 32, none},
	{"key-", hexLower, 32, none},
	{"xkeysib-", url64, 24, none},
	{"xsmtpsib-", url64, 24, none},
	{"mlsn.", hexLower, 24, none},
	{"re_", url64, 24, mixed},
	{"sk-or-v1-", hexLower, 32, none},
	{"sk-lf-", url64, 20, digit},
	{"sk-", url64, 20, mixed},
	{"hf_", letters, 20, mixed},
	{"r8_", letters, 24, mixed},
	{"gsk_", letters, 24, mixed},
	{"xai-", letters, 24, mixed},
	{"pplx-", letters, 24, mixed},
	{"pcsk_", url64, 24, none},
	{"tgp_v1_", url64, 24, none},
	{"nvapi-", url64, 24, mixed},
	{"EAAB", letters, 40, mixed},
	{"EAAC", letters, 40, mixed},
	{"EAAG", letters, 40, mixed},
	{"IGQV", letters, 40, mixed},
	{"sk.eyJ", dotted, 24, none},

	// single sign-on: CAS protocol 3.0, section 3
	{"ST-", url64, 20, digit},
	{"PT-", url64, 20, digit},
	{"TGT-", url64, 20, digit},
	{"PGT-", url64, 20, digit},
	{"PGTIOU-", url64, 20, digit},
}

// marks are the bytes by which a prefix is found: the first of them in it.
const marks = "_-./AKQ"

// issuersBy has the forms of keys by their mark, and by the byte before it; by
// the one after it for those that begin with it. unmarked have none, and have
// their first digit in the rest.
var issuersBy, unmarked = func() (by [256]*[256][]issued, unmarked []issued) {
	for _, f := range issuers {
		i := bytes.IndexAny([]byte(f.prefix), marks)
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
	return by, unmarked
}()

// issued looks at a mark for a key that an issuer marked, and gives where it
// ended, 0 where there is none.
func (t *scan) issued(i int) int {
	b, forms := t.src, issuersBy[t.src[i]]
	if !t.w.r.credential || forms == nil {
		return 0
	}
	if i > 0 {
		for k := range forms[b[i-1]] {
			f := &forms[b[i-1]][k]
			if end := t.issuedBy(f, i-bytes.IndexByte([]byte(f.prefix), b[i])); end > 0 {
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
		f.doubt == mixed && (!number || !small || !capital):
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

// unmarkedKey looks for a key whose first digit is at i and whose prefix has no
// mark.
func (t *scan) unmarkedKey(i int) int {
	if !t.w.r.credential || i == 0 || !isLetter(t.src[i-1]) {
		return 0
	}
	const longest = 16
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
