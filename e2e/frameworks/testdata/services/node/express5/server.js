import express from 'express5';
import start from '../start.js';
import { search } from './search.js';

const app = express();
app.use((req, res, next) => {
  res.set('x-served-by', 'shop');
  next();
});
app.get('/items/:id', async (req, res) => {
  await null;
  res.json({ id: req.params.id });
});
app.route('/search').get(search).post(express.json(), search);
app.all('/ping', (req, res) => { res.send('pong'); });
app.get('/files/*path', (req, res) => { res.send(req.params.path.join('/')); });
start(app.listen(0, '127.0.0.1'));
