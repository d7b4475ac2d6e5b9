package kinesis

import (
	"bytes"
	"crypto/md5"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The KPL's format: one Kinesis record that carries many.
//
//	magic   4 bytes, F3 89 9A C2
//	body    protobuf AggregatedRecord
//	digest  16 bytes, MD5 of body
//
//	AggregatedRecord {
//	  repeated string partition_key_table     = 1;
//	  repeated string explicit_hash_key_table = 2;
//	  repeated Record records                 = 3;
//	}
//	Record {
//	  required uint64 partition_key_index     = 1;
//	  optional uint64 explicit_hash_key_index = 2;
//	  required bytes  data                    = 3;
//	  repeated Tag    tags                    = 4;
//	}
var magic = []byte{0xF3, 0x89, 0x9A, 0xC2}

const (
	fieldKeys    = 1
	fieldHashes  = 2
	fieldRecords = 3

	fieldKeyIndex  = 1
	fieldHashIndex = 2
	fieldData      = 3

	// aggregateFrame is what magic and digest take.
	aggregateFrame = 4 + md5.Size
)

// userRecord is one of the records in an aggregated one.
type userRecord struct {
	partitionKey string
	// hash is the explicit hash key in decimal, where there is one.
	hash string
	data []byte
}

// aggregateCost bounds what a record adds to an aggregated one, in bytes.
// Tags and lengths of three nested fields take at most 6 bytes each.
func aggregateCost(partitionKey string, data []byte) int {
	return len(partitionKey) + len(data) + 4*6
}

// aggregate encodes records as one. A partition key that several share is
// written once.
func aggregate(records []userRecord) []byte {
	size := aggregateFrame
	for _, r := range records {
		size += aggregateCost(r.partitionKey, r.data)
	}
	out := append(make([]byte, 0, size), magic...)
	index := make(map[string]uint64, len(records))
	for _, r := range records {
		if _, known := index[r.partitionKey]; !known {
			index[r.partitionKey] = uint64(len(index))
			out = protowire.AppendTag(out, fieldKeys, protowire.BytesType)
			out = protowire.AppendString(out, r.partitionKey)
		}
	}
	for _, r := range records {
		key := index[r.partitionKey]
		n := 1 + protowire.SizeVarint(key) + 1 + protowire.SizeBytes(len(r.data))
		out = protowire.AppendTag(out, fieldRecords, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(n))
		out = protowire.AppendTag(out, fieldKeyIndex, protowire.VarintType)
		out = protowire.AppendVarint(out, key)
		out = protowire.AppendTag(out, fieldData, protowire.BytesType)
		out = protowire.AppendBytes(out, r.data)
	}
	digest := md5.Sum(out[len(magic):])
	return append(out, digest[:]...)
}

// isAggregated reports whether data is a whole aggregated record. One whose
// digest does not fit is taken for a record of its own, as the KCL does.
func isAggregated(data []byte) bool {
	if len(data) <= aggregateFrame || !bytes.HasPrefix(data, magic) {
		return false
	}
	body, digest := data[len(magic):len(data)-md5.Size], data[len(data)-md5.Size:]
	sum := md5.Sum(body)
	return bytes.Equal(sum[:], digest)
}

var errAggregate = errors.New("an aggregated record that cannot be taken apart")

// deaggregate takes an aggregated record apart. The records' data is part of
// the argument.
func deaggregate(data []byte) ([]userRecord, error) {
	if !isAggregated(data) {
		return nil, errAggregate
	}
	var keys, hashes []string
	var bodies [][]byte
	err := eachField(data[len(magic):len(data)-md5.Size], func(f protowire.Number, v []byte, _ uint64) error {
		switch f {
		case fieldKeys:
			keys = append(keys, string(v))
		case fieldHashes:
			hashes = append(hashes, string(v))
		case fieldRecords:
			bodies = append(bodies, v)
		}
		return nil
	})
	if err != nil || len(bodies) > maxIndex+1 {
		return nil, errAggregate
	}
	records := make([]userRecord, len(bodies))
	for i, body := range bodies {
		if records[i], err = parseUserRecord(body, keys, hashes); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func parseUserRecord(body []byte, keys, hashes []string) (userRecord, error) {
	var r userRecord
	keyed := false
	err := eachField(body, func(f protowire.Number, v []byte, n uint64) error {
		switch f {
		case fieldKeyIndex:
			if n >= uint64(len(keys)) {
				return errAggregate
			}
			r.partitionKey, keyed = keys[n], true
		case fieldHashIndex:
			if n >= uint64(len(hashes)) {
				return errAggregate
			}
			r.hash = hashes[n]
		case fieldData:
			r.data = v
		}
		return nil
	})
	if err != nil || !keyed {
		return userRecord{}, errAggregate
	}
	return r, nil
}

// eachField calls visit for each field of a message, with the value of a
// field of bytes or of a varint.
func eachField(msg []byte, visit func(f protowire.Number, bytes []byte, varint uint64) error) error {
	for len(msg) > 0 {
		f, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return errAggregate
		}
		msg = msg[n:]
		var v []byte
		var u uint64
		switch kind {
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(msg)
		case protowire.VarintType:
			u, n = protowire.ConsumeVarint(msg)
		default:
			n = protowire.ConsumeFieldValue(f, kind, msg)
		}
		if n < 0 {
			return errAggregate
		}
		msg = msg[n:]
		if err := visit(f, v, u); err != nil {
			return err
		}
	}
	return nil
}
