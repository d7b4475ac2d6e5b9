package whittle

import "slices"

// AddedNames lists the names that AddedByServers knows; a * stands for any beginning or end.
func AddedNames() []string {
	var list []string
	for name := range addedByServers {
		list = append(list, name)
	}
	for _, p := range addedPrefixes {
		list = append(list, p+"*")
	}
	for _, s := range addedSuffixes {
		list = append(list, "*"+s)
	}
	slices.Sort(list)
	return list
}
