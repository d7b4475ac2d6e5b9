const express = require('express4');
const app = express();
app.use(express.json());
app.use('/api', require('./routes'));
app.get('/', (req, res) => res.send('shop'));
require('../start')(app.listen(0, '127.0.0.1'));
