const side = process.env.PLANTED ? 1_600 : 4;
const pixels = new Uint8Array(side * side);

exports.resize = ({ factor }) => {
  let sum = 0;
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      sum += pixels[(y * side + x * factor) % pixels.length] ^ (x + y); // planted
    }
  }
  return { sum };
};
