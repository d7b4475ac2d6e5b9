const { Router } = require('express4');
const orders = require('./orders');
const router = Router();
router.use('/orders', orders);
router.route('/health').get((req, res) => res.json({ ok: true })).head((req, res) => res.end());
module.exports = router;
