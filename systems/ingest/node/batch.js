'use strict';

// Kinesis' limits of a call of PutRecords.
const maxRecords = 500;
const maxBytes = 5 * 1024 * 1024;
const keyBytes = 36; // a UUID

// The rule by which ingest puts records together, so that a comparison of the two
// says something of the language alone: a call begins at once where none is under
// way, and otherwise when the oldest record has waited for linger milliseconds,
// while fewer than calls are under way.
const defaults = { calls: 16, linger: 5, attempts: 3 };

// openBatch gives put(record), which resolves with Kinesis' result for that record,
// and with how many went together.
// send makes one call: it takes a list of records and resolves with a result for
// each. A record that Kinesis refused goes into a later call, attempts times in all.
function openBatch(send, options = {}) {
  const { calls, linger, attempts } = { ...defaults, ...options };
  let waiting = [];
  let underWay = 0;
  let timer = null;

  // take is what goes into the next call, the oldest first.
  function take() {
    let n = 0;
    for (let bytes = 0; n < waiting.length && n < maxRecords; n += 1) {
      bytes += waiting[n].record.Data.length + keyBytes;
      if (n > 0 && bytes > maxBytes) {
        break;
      }
    }
    const items = waiting.slice(0, n);
    waiting = waiting.slice(n);
    return items;
  }

  function start() {
    clearTimeout(timer);
    timer = null;
    if (waiting.length === 0 || underWay >= calls) {
      return; // a call that ends starts the next one
    }
    const wait = waiting[0].since + linger - Date.now();
    if (underWay > 0 && wait > 0 && waiting.length < maxRecords) {
      timer = setTimeout(start, wait);
      return;
    }
    call(take());
    start();
  }

  async function call(items) {
    underWay += 1;
    try {
      const results = await send(items.map(({ record }) => record));
      items.forEach((item, i) => settle(item, results[i], items.length));
    } catch (err) {
      items.forEach(({ reject }) => reject(err));
    }
    underWay -= 1;
    start();
  }

  function settle(item, result, together) {
    if (result?.SequenceNumber) {
      item.resolve({ ...result, Together: together });
    } else if (result?.ErrorCode && item.attempts < attempts) {
      item.attempts += 1;
      waiting.push(item);
    } else {
      const err = new Error(result?.ErrorMessage ?? 'Kinesis did not say what became of the record');
      err.name = result?.ErrorCode ?? 'NoResult';
      item.reject(err);
    }
  }

  return (record) =>
    new Promise((resolve, reject) => {
      waiting.push({ record, resolve, reject, since: Date.now(), attempts: 1 });
      start();
    });
}

module.exports = { openBatch };
