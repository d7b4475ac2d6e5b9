package redact

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
)

// Names are compared without case and without anything but letters and digits,
// so that access_token, accessToken and Access-Token are one.

// exactNames are secret as they stand: they are too short, or too common as
// parts of other words, to be looked for inside of names.
var exactNames = set(
	"auth", "authentication", "bearer", "card", "cardno", "ccnumber", "ccnum", "ccn", "pan",
	"pass", "pwd", "passcode", "pin", "pincode", "otp", "totp", "mfacode", "cvv", "cvv2", "cvc", "cvc2", "csc",
	"securitycode", "cardexpiry", "session", "sessid", "sid", "phpsessid", "jsessionid", "connectsid",
	"ssn", "nationalid", "taxid", "passport", "passportno", "passportnumber", "driverslicense",
	"iban", "bban", "accountnumber", "accountno", "bankaccount", "routingnumber", "sortcode",
	"jwt", "nonce", "otpcode", "sig", "signature", "tokens", "cookie", "cookies", "setcookie",
	"hmac", "devicecode", "usercode", "signaturevalue", "totpseed", "manualentrykey", "xkey",
	"xamznoidcdata", "xamznoidcidentity", "xmsclientprincipal", "xhoneycombteam", "xappwritekey",
	"xhubsignature256", "senha", "xforwardedclientcert", "pem", "mnemonic", "passkey",
)

// secretParts make any name secret that has one of them inside.
var secretParts = []string{
	"password", "passwd", "passphrase", "passwort", "kennwort", "motdepasse", "contrasena", "contraseña", "wachtwoord", "secret", "apikey", "accesskey", "privatekey", "secretkey", "encryptionkey",
	"credential", "authorization", "authtoken", "creditcard", "debitcard", "cardnumber", "socialsecurity",
	"sessionid", "sessionkey", "csrf", "xsrf", "bearertoken",
	"recoverycode", "recoverykey", "recoveryphrase", "seedphrase", "backupcode", "verificationcode", "verifycode", "confirmationcode", "activationcode",
	"resetcode", "twofactorcode", "2facode", "smscode", "onetimecode", "logincode", "accountkey", "connectionstring", "securityanswer", "magiclink",
	"authkey", "authcode", "subscriptionkey", "functionskey", "applicationkey", "masterkey", "sharedkey", "signingkey", "codeverifier", "samlresponse",
}

// secretEnds make any name secret that ends with one of them.
var secretEnds = []string{
	"token", "pwd", "jwt", "iban", "cvv", "ssn", "otp", "signature", "assertion", "hmacsha256",
	"dbpass", "sshpass", "becomepass", "userpass", "rootpass", "adminpass", "smtppass", "mailpass", "keypass", "storepass",
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// maxName bounds the names that are looked at; a longer one is no field's.
const maxName = 128

// normal appends a name in small letters and digits. Letters beyond ASCII stay.
func normal(dst, name []byte) []byte {
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c|0x20)
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
			dst = append(dst, c)
		}
	}
	return dst
}

// secretPath reports whether a field of this name is secret. The name may have
// parts: user[password], user.password, wsse:Password.
func (w *work) secretPath(name []byte) bool {
	if len(name) > maxName { // of which a namespace is most
		name = name[bytes.LastIndexByte(name, '}')+1:]
	}
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	slot := &w.seen[maphash.Bytes(seed, name)%uint64(len(w.seen))]
	if len(name) > len(slot.name) {
		return w.secretParts(name)
	}
	if string(slot.name[:slot.n]) != string(name) {
		slot.n = uint8(copy(slot.name[:], name))
		slot.secret = w.secretParts(name)
	}
	return slot.secret
}

var seed = maphash.MakeSeed()

func (w *work) secretParts(name []byte) bool {
	w.name = normal(w.name[:0], name)
	if w.r.secretName(w.name, w.r.fields) {
		return true
	}
	for i := bytes.IndexAny(name, ".[]:/}"); i >= 0; i = bytes.IndexAny(name, ".[]:/}") {
		w.name = normal(w.name[:0], name[:i])
		if w.r.secretName(w.name, w.r.fields) {
			return true
		}
		if name = name[i+1:]; !bytes.ContainsAny(name, ".[]:/}") {
			w.name = normal(w.name[:0], name)
			return w.r.secretName(w.name, w.r.fields)
		}
	}
	return false
}

// SecretName reports whether a field of this name is secret by the defaults,
// whatever its value looks like: password, access_token, card.number.
func SecretName(name string) bool {
	var r Redactor
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return strings.ContainsRune(".[]:/}", c) }) {
		if len(part) <= maxName && r.secretName(normal(nil, []byte(part)), nil) {
			return true
		}
	}
	return false
}

// secretName judges a name in its normal form; more are those of the rules.
func (r *Redactor) secretName(plain []byte, more map[string]bool) bool {
	switch {
	case len(plain) == 0, r.kept[string(plain)]:
		return false
	case more[string(plain)], exactNames[string(plain)]:
		return true
	}
	s := string(plain)
	return slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(s, end) }) ||
		slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(s, part) })
}
