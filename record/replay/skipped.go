package replay

import (
	"cmp"

	"whittle"
)

var skipWords = map[string]string{
	whittle.SkipNotSafe:      "may change something, and the write contract does not allow it",
	whittle.SkipTooLarge:     "a body was too large, or could not be redacted, so it was not recorded or not compared",
	whittle.SkipStreaming:    "an upgrade or an event stream",
	whittle.SkipCanceled:     "the client went away",
	whittle.SkipServed:       "the recorded response is a candidate's",
	whittle.SkipUntranslated: "the request has no meaning in the contract",
	whittle.SkipInterrupted:  "the replay ended before its turn",
	whittle.SkipStale:        "it came to the log, or left it, while it was replayed",
	whittle.SkipMonolith:     "the monolith gave no response to compare with",
	skipOther:                "of a route that was not asked for",
	skipNoRoute:              "the config has no candidate for it",
	whittle.SkipEncoded:      "its response has an encoding that is not read here",
	skipRedacted:             "denied, or not the same, and its credential is only a token",
	skipNoKey:                "its recorded response has tokens in the place of secrets, and their key is missing or the rules are others",
	failed:                   "the candidate gave no response",
}

// skipText explains a reason for which an exchange was not compared.
func skipText(why string) string { return cmp.Or(skipWords[why], why) }
