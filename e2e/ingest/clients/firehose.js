// What a function that transforms records for Firehose sees of a Kinesis stream, as AWS's
// documentation has its event and its result. Records of the KPL are taken apart by AWS's
// own library before, as Firehose does it. argv: the folder of the packages. stdin: the
// event. It prints what Firehose then has.
const { deaggregateSync } = require(process.argv[2] + '/aws-kinesis-agg');

exports.handler = async (event) => ({
  records: event.records.map((record) => {
    const text = Buffer.from(record.data, 'base64').toString('utf8');
    if (JSON.parse(text).event.type !== 'track') throw new Error('no event in ' + text);
    return { recordId: record.recordId, result: 'Ok', data: Buffer.from(text, 'utf8').toString('base64') };
  }),
});

const takenApart = (event) => {
  const records = [];
  for (const { recordId, data, kinesisRecordMetadata: at } of event.records) {
    deaggregateSync({ kinesisSchemaVersion: '1.0', ...at, data }, true, (err, users) => {
      if (err) throw err;
      users.forEach((user, n) => records.push({ recordId: recordId + '.' + n, data: user.data }));
    });
  }
  return { ...event, records };
};

let body = '';
process.stdin.on('data', (d) => (body += d)).on('end', async () => {
  const { records } = await exports.handler(takenApart(JSON.parse(body)));
  for (const { data } of records) process.stdout.write(Buffer.from(data, 'base64'));
});
