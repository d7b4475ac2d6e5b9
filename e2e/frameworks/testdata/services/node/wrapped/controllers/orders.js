const db = require('../services/db');
const billing = require('../services/billing');

exports.index = async (req, res) => {
  const orders = await db.all('orders');
  res.json({ customer: req.params.customerId, orders: orders.slice(0, 10) });
};

exports.create = async (req, res) => {
  res.status(201).json({ id: 1, ...req.body });
};

exports.invoice = async (req, res) => {
  const orders = await db.all('orders');
  const lines = billing.lines(orders);
  await db.find('customers', req.params.customerId);
  res.json({ total: lines.length, first: lines[0] });
};
