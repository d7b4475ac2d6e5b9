'use strict';

const { createApp } = require('./app');
const { serve } = require('../listen');

serve(createApp());
