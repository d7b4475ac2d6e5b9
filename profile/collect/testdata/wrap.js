// A wrapper of handlers in a file of its own, of which it needs nothing else.
'use strict';
module.exports = handler => (req, res) => Promise.resolve(handler(req, res)).catch(() => res.end());
