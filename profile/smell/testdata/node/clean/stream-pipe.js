'use strict';

module.exports = (req, res) => req.pipe(res);
