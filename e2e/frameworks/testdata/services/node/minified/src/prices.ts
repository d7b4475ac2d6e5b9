import { Router } from 'express4';
import { book } from './book';

export function prices(): any {
  const router = Router();
  router.get('/:symbol', (req: any, res: any) => {
    res.json({ symbol: req.params.symbol, price: 4 });
  });
  router.get('/:symbol/depth', (req: any, res: any) => {
    res.json(book(req.params.symbol).slice(0, 5));
  });
  return router;
}
