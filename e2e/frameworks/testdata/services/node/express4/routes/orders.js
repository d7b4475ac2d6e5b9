const { Router } = require('express4');
const { price } = require('../price');
const router = Router();

function show(req, res) {
  res.json({ id: req.params.id, lines: [1, 2, 3] });
}

router.get('/:id', show);
router.post('/:id/price', (req, res) => {
  res.json({ id: req.params.id, total: price(req.body.n) });
});

module.exports = router;
