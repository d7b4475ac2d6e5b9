// The class of an application whose instances only the heap knows, as hapi's.
'use strict';
const http = require('node:http');
// Modules of Node's own, which hold far more than this one.
const fs = require('node:fs');
const https = require('node:https');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const stream = require('node:stream');
const url = require('node:url');
const util = require('node:util');
const zlib = require('node:zlib');
const crypto = require('node:crypto');
const internals = { dispatches: 0, all: () => [fs, https, net, os, path, stream, url, util, zlib, crypto] };

internals.Core = class {
  instances = new Set();
  router = { routes: new Map() };
  constructor(routes) {
    for (const [method, path, handler] of routes) {
      const of = this.router.routes.get(method) ?? { routes: [] };
      this.router.routes.set(method, of);
      of.routes.push({ path, route: { path, public: { settings: { handler } } } });
    }
  }
  _dispatch() {
    internals.dispatches++;
    return (req, res) => this.router.routes.get(req.method.toLowerCase()).routes[0].route.public.settings.handler(req, res);
  }
  _createListener() {
    return http.createServer(this._dispatch());
  }
};

exports.Core = internals.Core;
