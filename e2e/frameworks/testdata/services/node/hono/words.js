const times = process.env.PLANTED ? 900 : 1;
const word = /[a-z]+(?:'[a-z]+)?/g;

export function words(text) {
  let n = 0;
  for (let i = 0; i < times; i++) {
    n += text.toLowerCase().match(word).length; // planted
  }
  return n;
}
