// A Lambda handler on a Kinesis stream, as AWS's documentation has it: it decodes
// each record's data and parses it. Records of the KPL are taken apart by AWS's
// own library. argv: the folder of the packages. stdin: the event that Lambda
// calls it with.
const { deaggregateSync } = require(process.argv[2] + '/aws-kinesis-agg');

exports.handler = async (event) => {
  for (const record of event.Records) {
    if (record.eventSource !== 'aws:kinesis') throw new Error('an event of ' + record.eventSource);
    deaggregateSync(record.kinesis, true, (err, users) => {
      if (err) throw err;
      for (const user of users) {
        const text = Buffer.from(user.data, 'base64').toString('utf8');
        const { event } = JSON.parse(text);
        if (event.type !== 'track') throw new Error('no event in ' + text);
        process.stdout.write(user.partitionKey + ' ' + text.trim() + '\n');
      }
    });
  }
};

let body = '';
process.stdin.on('data', (d) => (body += d)).on('end', () => exports.handler(JSON.parse(body)).catch((e) => { console.error(e); process.exit(1); }));
