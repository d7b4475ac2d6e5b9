exports.default = (req, res) => res.status(200).json({ ok: true });
