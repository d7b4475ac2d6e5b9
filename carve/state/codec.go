package state

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"

	"whittle"
)

// A record is written as
//
//	version (1 byte) | checksum (4) | parts, each a uvarint length and its bytes
//
// with the parts epoch, rollout, judge, guard, ledger and the checksum of the
// time line, which has a key of its own. The checksum is CRC-32C over
// the route's name and everything behind it, so that neither a record of
// another route nor another generation's time line passes for this one.
const (
	recordVersion = 1
	headLen       = 1 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(route string, b []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(route), castagnoli), castagnoli, b)
}

func encode(route string, r Record) (record, timeline []byte, err error) {
	if route == "" || len(route) > maxName {
		return nil, nil, whittle.Errorf(whittle.Invalid, "a route's name has 1 to %d bytes, not %d", maxName, len(route))
	}
	r.Timeline = r.Timeline[max(0, len(r.Timeline)-MaxTimeline):]
	if timeline, err = json.Marshal(r.Timeline); err != nil {
		return nil, nil, err
	}
	sum := binary.BigEndian.AppendUint32(nil, checksum(route, timeline))
	record = make([]byte, headLen, headLen+len(r.Rollout)+len(r.Judge)+len(r.Guard)+len(r.Ledger)+128)
	for _, part := range [][]byte{[]byte(r.Epoch), r.Rollout, r.Judge, r.Guard, r.Ledger, sum} {
		if len(part) > maxPart {
			return nil, nil, whittle.Errorf(whittle.ResourceExhausted, "a part of the record has %d bytes; %d are the limit", len(part), maxPart)
		}
		record = append(binary.AppendUvarint(record, uint64(len(part))), part...)
	}
	record[0] = recordVersion
	binary.BigEndian.PutUint32(record[1:headLen], checksum(route, record[headLen:]))
	return record, timeline, nil
}

// decode copies what it keeps: the bytes given belong to the database's map.
func decode(route string, record, timeline []byte) (Record, error) {
	if record == nil {
		return Record{}, nil
	}
	if len(record) < headLen {
		return Record{}, corrupt("%d bytes are no record", len(record))
	}
	if v := record[0]; v != recordVersion {
		return Record{}, corrupt("a record of version %d", v)
	}
	body := record[headLen:]
	if binary.BigEndian.Uint32(record[1:headLen]) != checksum(route, body) {
		return Record{}, corrupt("the record's checksum does not match")
	}
	var parts [6][]byte
	for i := range parts {
		n, width := binary.Uvarint(body)
		if width <= 0 || n > uint64(len(body)-width) {
			return Record{}, corrupt("part %d is cut off", i)
		}
		parts[i] = append([]byte(nil), body[width:width+int(n)]...)
		body = body[width+int(n):]
	}
	if len(body) != 0 {
		return Record{}, corrupt("%d bytes follow the last part", len(body))
	}
	if sum := parts[5]; len(sum) != 4 || binary.BigEndian.Uint32(sum) != checksum(route, timeline) {
		return Record{}, corrupt("the time line's checksum does not match")
	}
	r := Record{Epoch: string(parts[0]), Rollout: parts[1], Judge: parts[2], Guard: parts[3], Ledger: parts[4]}
	if err := json.Unmarshal(timeline, &r.Timeline); err != nil {
		return Record{}, corrupt("time line: %v", err)
	}
	return r, nil
}
