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

const until = Date.now() + 400
while (Date.now() < until) handle({ times: 100000 })
