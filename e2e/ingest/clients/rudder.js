// Sends by RudderStack's Node SDK: node rudder.js MODULES URL KEY COUNT. It ends when
// the server has taken all, with status 1 where the SDK says that it has not.
'use strict'

const [modules, dataPlaneUrl, writeKey, count] = process.argv.slice(2)
const RudderAnalytics = require(modules + '/@rudderstack/rudder-sdk-node')
const client = new RudderAnalytics(writeKey, { dataPlaneUrl, flushAt: 20, flushInterval: 100 })
let left = Number(count) + 1
const sent = (err) => {
  if (err) {
    console.error(String(err))
    process.exit(1)
  }
  if (--left === 0) process.exit(0)
}
client.identify({ userId: 'user-1', traits: { plan: 'pro' } }, sent)
for (let n = 0; n < Number(count); n++) {
  client.track({ userId: 'user-' + (n % 10), event: 'Item Viewed', properties: { n, text: 'größer ✓' } }, sent)
}
client.flush()
setTimeout(() => {
  console.error(left + ' events are not acknowledged')
  process.exit(1)
}, 20000)
