const rounds = process.env.PLANTED ? 1_500_000 : 10;

exports.price = function price(n) {
  let total = 0;
  for (let i = 0; i < rounds; i++) total += Math.sqrt(i * n) % 7; // planted
  return total;
};
