const { document } = require('../../../lib/document');

exports.default = async function handler(req, res) {
  const bytes = await document(req.query.id);
  res.setHeader('Content-Type', 'application/pdf');
  res.status(200).end(bytes);
};
