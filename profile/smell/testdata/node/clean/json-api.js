'use strict';

module.exports = (req, res) => {
  let body = '';
  req.on('data', (part) => { body += part; });
  req.on('end', () => {
    const person = JSON.parse(body);
    person.times.sort();
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(person));
  });
};
