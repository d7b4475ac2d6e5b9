const many = process.env.PLANTED ? 20000 : 3;

class Billing {
  lines(orders) {
    const own = orders.slice(0, many);
    const sorted = own.sort((a, b) => a.name.localeCompare(b.name)); // planted
    return sorted.map(o => ({ id: o.id, price: o.price }));
  }
}
module.exports = new Billing();
