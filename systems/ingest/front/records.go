package front

import (
	"net/http"

	"whittle"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

// acceptPost names, in a response to OPTIONS, the media type by which records of
// another ingest are taken as they are: ingest replay asks for it.
var acceptPost = []string{stream.RecordsType}

// parseRecords makes records of a body of framed records: bytes, id, key, time
// and headers stay as they are.
func (c *call) parseRecords(body []byte) *refusal {
	if c.f.o.Keys != nil && c.key == "" {
		return unknownKey("")
	}
	for rest := body; len(rest) > 0; {
		encoded, after, err := stream.NextFramed(rest)
		if err != nil {
			return &refusal{status: http.StatusBadRequest, reason: "the body is not a list of records"}
		}
		if len(c.listed) == c.f.limits.events() {
			return &refusal{status: http.StatusRequestEntityTooLarge, reason: "the body has too many records"}
		}
		item := event.Item{Raw: encoded, Offset: len(body) - len(rest)}
		item.Record, err = stream.ParseRecord(encoded)
		switch {
		case err != nil:
			item.Err = whittle.Errorf(whittle.Invalid, "%w", err)
		case !item.Record.Intact():
			item.Err = whittle.Errorf(whittle.Invalid, "the record's checksum does not match")
		case item.Record.ID == "":
			item.Record.ID = newID()
		}
		c.listed, rest = append(c.listed, item), after
	}
	c.items, c.batch = c.listed, true
	return nil
}
