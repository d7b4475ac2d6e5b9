// stands for a database: responds in a later turn
const rows = {
  customers: Array.from({ length: 20 }, (_, i) => ({ id: i, name: `customer ${i}` })),
  products: Array.from({ length: 20 }, (_, i) => ({ id: i, sku: `sku-${i}` })),
  orders: Array.from({ length: 20000 }, (_, i) => ({ id: i, name: `Order ${(i * 7919) % 20000}`, price: (i * 31) % 97 })),
};
const later = value => new Promise(done => setTimeout(done, 1, value));
exports.all = table => later(rows[table]);
exports.find = (table, id) => later(rows[table][Number(id) || 0]);
