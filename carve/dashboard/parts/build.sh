#!/bin/sh
# build.sh TO: copies the pinned front-end parts from node_modules to a folder.
# Each becomes a module that a browser loads as it is: names that only a bundler
# could find become paths, and source maps, which are not shipped, are not named.
set -eu
from=$(dirname "$0")/node_modules
to=$1
mkdir -p "$to"
plain() { sed '/^\/\/# sourceMappingURL=/d' "$1"; }
plain "$from/preact/dist/preact.mjs" >"$to/preact.js"
plain "$from/preact/hooks/dist/hooks.mjs" | sed 's#from"preact"#from"./preact.js"#' >"$to/hooks.js"
plain "$from/htm/dist/htm.module.js" >"$to/htm.js"
{ plain "$from/uplot/dist/uPlot.iife.min.js"; echo 'export default uPlot;'; } >"$to/uplot.js"
plain "$from/uplot/dist/uPlot.min.css" >"$to/uplot.css"
for part in preact htm uplot; do
  cp "$from/$part/LICENSE" "$to/$part.LICENSE"
done
