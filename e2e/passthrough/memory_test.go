package passthrough

const childUpstream = "WHITTLE_TEST_UPSTREAM"

func child(string) int { return 0 }
