module.exports = function auth(req, res, next) {
  req.user = { id: req.headers['x-user'] || 'anonymous' };
  next();
};
