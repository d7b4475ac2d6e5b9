const { Router } = require('express4');
const asyncHandler = require('../middleware/asyncHandler');
const controller = require('../controllers/customers');
const orders = require('./orders');

const router = Router();
router.get('/', asyncHandler(controller.list));
router.get('/:customerId', asyncHandler(controller.get));
router.use('/:customerId/orders', orders);
module.exports = router;
