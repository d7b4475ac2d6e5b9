package hostile

// maxrssUnit is the unit of Rusage.Maxrss, in bytes.
const maxrssUnit = 1
