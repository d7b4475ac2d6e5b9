// Sends one event of each kind by Segment's own SDK, and many in a burst, to
// the server that is named; ends when the SDK says that all are delivered.
'use strict'

const { Analytics } = require('@segment/analytics-node')

const [host, writeKey, burst] = process.argv.slice(2)
const analytics = new Analytics({ writeKey, host, maxRetries: 3, flushAt: 15, flushInterval: 200, httpRequestTimeout: 10000 })
const failed = []
analytics.on('error', (err) => failed.push(err))

const userId = 'user-1'
analytics.identify({ userId, traits: { plan: 'pro' } })
analytics.track({ userId, event: 'Signed Up', properties: { price: 19.99 } })
analytics.page({ userId, name: 'Home', properties: { url: 'https://example.com/' } })
analytics.screen({ userId, name: 'Start' })
analytics.group({ userId, groupId: 'team-1', traits: { size: 3 } })
analytics.alias({ userId, previousId: 'anonymous-1' })
for (let n = 0; n < Number(burst); n++) {
  analytics.track({ userId: 'user-' + (n % 10), event: 'Item Viewed', properties: { n, text: 'größer ✓' } })
}
analytics.closeAndFlush({ timeout: 30000 }).then(() => {
  for (const err of failed) console.error(JSON.stringify(err))
  process.exitCode = failed.length > 0 ? 1 : 0
})
