package stream

import "whittle"

// Check refuses, as Invalid, a record that is out of the contract's bounds or
// longer than limit bytes as it is encoded.
func Check(r *Record, limit int) error {
	switch n := EncodedLen(r); {
	case n > limit:
		return whittle.Errorf(whittle.Invalid, "a record of %d bytes is too large: %d are taken", n, limit)
	case len(r.ID) > MaxID:
		return whittle.Errorf(whittle.Invalid, "a record's id has %d bytes: %d are taken", len(r.ID), MaxID)
	case len(r.Key) > MaxKey:
		return whittle.Errorf(whittle.Invalid, "a record's key has %d bytes: %d are taken", len(r.Key), MaxKey)
	case len(r.Header) > MaxHeaders:
		return whittle.Errorf(whittle.Invalid, "a record has %d headers: %d are taken", len(r.Header), MaxHeaders)
	}
	return nil
}
