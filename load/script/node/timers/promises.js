module.exports = {setTimeout: (ms, v) => new Promise(done => setTimeout(() => done(v), ms)), setImmediate: v => new Promise(done => setImmediate(() => done(v)))};
