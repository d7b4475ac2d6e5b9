const db = require('../services/db');

exports.list = async (req, res) => {
  res.json(await db.all('customers'));
};

exports.get = async (req, res) => {
  res.json(await db.find('customers', req.params.customerId));
};
