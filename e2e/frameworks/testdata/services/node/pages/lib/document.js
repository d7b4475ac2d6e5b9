const lines = process.env.PLANTED ? 60_000 : 1;

exports.document = async id => {
  let text = '%PDF-1.4\n';
  let sum = 0;
  for (let i = 0; i < lines; i++) {
    const row = `${i} 0 obj << /Id ${id} >> endobj\n`;
    sum = (sum * 31 + row.charCodeAt(i % row.length)) >>> 0; // planted
  }
  return Buffer.from(text + sum);
};
