import { html } from './dom.js';
import { named, visible } from './format.js';

// What the API's words are called on the page.
export const phases = {
  off: 'Off', shadow: 'Shadow', shift: 'Shifting', live: 'Live', rolled_back: 'Rolled back',
};
export const verdicts = { DIFFERENT: '≠', UNDECIDED: '?', EQUIVALENT: '=' };

export const findingKinds = {
  status: 'Status', content_type: 'Content type', header: 'Header', body: 'Body', field: 'Field', form: 'Form', mean: 'Mean', spread: 'Spread',
  distribution: 'Distribution', repeats: 'Repeats', wrong_value: 'Wrong value', unreadable: 'Unreadable', failure: 'Failure',
};

export const skips = {
  not_safe: 'Not mirrored: may change something', sampled: 'Outside the sample', too_large: 'Too large to copy', streaming: 'Streaming',
  canceled: 'Client went away', served: 'Served by the candidate, not watched', off: 'Route was off', untranslated: 'Does not fit the contract', preview: 'A tester’s preview',
  interrupted: 'whittle was stopped', unjudged: 'Sent, but not judged before its gateway ended', stale: 'Older than the evidence', monolith_down: 'Monolith gave no response', unread: 'Request’s body not read in full', encoded: 'Encoding not supported',
};

export const Verdict = ({ state, large }) => html`<span class=${`verdict ${String(state).toLowerCase()} ${large ? 'large' : ''}`}>
  <span class="sign" aria-hidden="true">${Object.hasOwn(verdicts, state) ? verdicts[state] : '·'}</span>${state}</span>`;

export const Phase = ({ route }) => html`<span class=${`phase ${route.phase}`}>${named(phases, route.phase)}${route.held ? html`<span class="held">held</span>` : ''}${
  route.steer?.under_way ? html`<span class="held">${visible(route.steer.under_way)} under way</span>` : ''}</span>`;

// Name is a text that anybody may have written: apart from what is around it,
// and with nothing hidden in it.
export const Name = ({ of }) => html`<bdi>${visible(of)}</bdi>`;

// Side names the monolith or the candidate, each with its mark. The monolith
// always comes first.
export const Side = ({ of, short }) => html`<span class=${`side ${of}`}><span class="mark" aria-hidden="true"></span>${
  short ? html`<span aria-hidden="true">${of === 'monolith' ? 'mono' : 'cand'}</span><span class="unseen">${of}</span>` : of === 'monolith' ? 'Monolith' : 'Candidate'}</span>`;
