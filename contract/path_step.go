package contract

import "encoding/json"

// PathStep is a member's step in a JSON path: .name, or ["odd name"].
func PathStep(key string) string {
	for i := range len(key) {
		c := key[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			b, _ := json.Marshal(key) // a string always can be
			return "[" + string(b) + "]"
		}
	}
	if key == "" {
		return `[""]`
	}
	return "." + key
}
