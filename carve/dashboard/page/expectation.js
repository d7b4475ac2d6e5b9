// The config's words for "this difference is intended": an entry of
// compare.expect, as docs/config.md has it.

// changing are the kinds whose findings are about one change of value.
const changing = ['status', 'content_type', 'header', 'field', 'body', 'failure'];
// placed are the kinds of which the config can narrow a place.
const placed = ['field', 'form', 'header', 'wrong_value'];
// anywhere is the path of findings at places too many to list.
const anywhere = '$..*';

// hidden is what stands for a secret: the config cannot be held against it.
const hidden = /redacted-[0-9a-f]{12}/;

// many stands for values too many to list.
const many = 'other values';

// narrowing says by what an entry for a finding can be narrowed.
export const narrowing = finding => ({
  path: placed.includes(finding.kind) && finding.path && finding.path !== anywhere ? finding.path : '',
  from: value(finding.kind, finding.monolith),
  to: value(finding.kind, finding.candidate),
});

const value = (kind, shown) => (shown && changing.includes(kind) && !hidden.test(shown) && shown !== many ? shown : '');

// entry writes the line to paste. A JSON string is a YAML string as well.
export function entry({ kind, path, from, to, reason }) {
  const quoted = [['path', path], ['from', from], ['to', to], ['reason', reason]]
    .filter(([, value]) => value).map(([name, value]) => `${name}: ${quote(value)}`);
  return `- {${[`kind: ${kind}`, ...quoted].join(', ')}}`;
}

// quote escapes what some YAML readers take for an end of line, too, and what the
// config would take for an environment variable.
const quote = text => JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).replaceAll('${', '$$${');
