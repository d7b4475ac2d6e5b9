import express from 'express4';
import { prices } from './prices';
import { session } from './session';

const app = express();
app.use(express.json());
app.use(session());
app.use('/prices', prices());
app.get('/version', (_req: any, res: any) => res.json({ version: 3 }));
const server = app.listen(0, '127.0.0.1', () => console.log(`listening public=127.0.0.1:${(server.address() as any).port}`));
process.once('SIGTERM', () => process.exit());
