const { Router } = require('express4');
const auth = require('../middleware/auth');

const router = Router();
router.use('/customers', auth, require('./customers'));
router.use('/products', require('./products'));
module.exports = router;
