const { Router } = require('express4');
const asyncHandler = require('../middleware/asyncHandler');
const db = require('../services/db');

const router = Router();
router.get('/:sku', asyncHandler(async (req, res) => {
  const product = await db.find('products', req.params.sku);
  res.json(product);
}));
module.exports = router;
