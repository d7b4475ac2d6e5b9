const rounds = process.env.PLANTED ? 1_000_000 : 20;

export function offers(shop) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    sum = (sum * 31 + i + shop.length) % 1_000_003; // planted
  }
  return sum;
}
