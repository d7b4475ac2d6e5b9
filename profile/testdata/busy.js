// Burns the processor in a function that a test looks for, by line.
'use strict'

function draw (times) {
  let sum = 0
  for (let i = 0; i < times; i++) {
    sum += Math.round(Math.random() * 100)
  }
  return sum
}

function handle (request) {
  return JSON.stringify({ sum: draw(request.times) })
}

// Something that lives, for the heap's profile.
globalThis.kept = Array.from({ length: 300000 }, (_, i) => ({ i }))

// By its own clock: so much is drawn however long a busy machine takes for it.
const begun = process.cpuUsage().user
while (process.cpuUsage().user - begun < 400e3) handle({ times: 100000 })
