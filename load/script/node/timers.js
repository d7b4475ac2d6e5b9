module.exports = {setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate};
