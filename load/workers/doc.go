// Package workers runs one load plan on several machines. Workers join a coordinator over
// NATS; each takes a part of the plan's users, all begin at one moment, and their results
// are merged as if one process had run all of it. If anything makes that untrue, the run is
// void, with the worker's name and the reason.
//
// The path of a run is call → join → prepare → clock → start → samples → results. All
// that a worker runs, and all that the plan reads, comes from the coordinator.
package workers
