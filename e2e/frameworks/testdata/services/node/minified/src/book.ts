type Level = { price: number; size: number; orders: { id: number; at: string }[] };

const depth = process.env.PLANTED ? 4000 : 1;
const levels: Level[] = Array.from({ length: 4000 }, (_, i) => ({ price: i / 100, size: i % 13, orders: [{ id: i, at: `t${i}` }] }));

export function book(_symbol: string): Level[] {
  return structuredClone(levels.slice(0, depth)); // planted
}
