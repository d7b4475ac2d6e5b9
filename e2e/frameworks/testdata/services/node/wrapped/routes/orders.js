const { Router } = require('express4');
const asyncHandler = require('../middleware/asyncHandler');
const controller = require('../controllers/orders');

const router = Router({ mergeParams: true });
router.route('/')
  .get(asyncHandler(controller.index))
  .post(asyncHandler(controller.create));
router.get('/:orderId/invoice', asyncHandler(controller.invoice));
module.exports = router;
