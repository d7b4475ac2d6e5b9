import { named } from './format.js';
import { phases } from './words.js';

// What can be ordered, when, and what it does: docs/rollout.md in the page's words.
const byHand = 'It stays there until somebody promotes the route.';

export const orders = {
  promote: {
    label: r => (r.phase === 'off' ? 'Switch on…' : 'Promote…'),
    title: r => (r.phase === 'off' ? 'Switch on' : 'Promote'),
    does: r => (r.phase === 'off' ? 'The route goes to shadow: requests are mirrored and compared, the monolith serves everybody.'
      : r.next_bp ? `The candidate will serve ${r.next_bp / 100} % of the users, without waiting for the step’s hold.` : 'The last step is reached: the candidate is declared live.'),
    barred: r => (r.phase === 'live' ? 'The candidate is live: there is no further step.'
      : r.phase !== 'off' && r.evidence.verdict === 'DIFFERENT' ? 'The verdict is DIFFERENT, which cannot be forced: fix the candidate and reset, or accept the difference in the config.' : ''),
    done: (r, now) => (now.phase === 'off' ? 'Switched on' : now.share_bp > r.share_bp ? `Promoted to ${now.share_percent} %` : `Now ${named(phases, now.phase).toLowerCase()}`),
    forced: r => r.phase !== 'off' && r.phase !== 'live' && (r.evidence.verdict === 'UNDECIDED' || Boolean(r.withheld)),
  },
  hold: {
    label: () => 'Hold…', title: () => 'Hold',
    does: () => 'The share no longer rises by itself. It can still fall: guards move users back to the monolith.',
    barred: r => (r.held ? 'The route is held already.' : r.phase === 'off' ? 'The route is off.' : ''),
    done: () => 'Held',
  },
  resume: {
    label: () => 'Resume…', title: () => 'Resume',
    does: () => 'The route goes on by itself again, on evidence.',
    barred: r => (r.held ? '' : 'The route is not held.'),
    done: () => 'Resumed',
  },
  approve: {
    label: () => 'Approve…', title: () => 'Approve',
    does: r => `Opens for the next step: ${closedByHand(r).map(g => `gate ${g.name}`).join(', ')}. One approval is good for one step, and a fall ends it.`,
    barred: r => (closedByHand(r).length ? '' : 'No gate waits for an approval.'),
    done: () => 'Approved',
  },
  rollback: {
    label: () => 'Roll back…', title: () => 'Roll back', danger: true, urgent: true,
    does: r => `The monolith serves everybody at once. ${byHand}${r.share_bp === 0 ? ' No user is on the candidate now.' : ''}`,
    barred: r => (r.phase === 'off' ? 'The route is off, so there is nothing to roll back.' : ''),
    done: () => 'Rolled back',
  },
  reset: {
    label: () => 'Reset evidence…', title: () => 'Reset evidence', danger: true,
    does: r => `The route goes back to shadow, and what was learned about the candidate (${r.evidence.compared.toLocaleString('en')} compared exchanges) is discarded. Use this once the candidate is fixed at the same URL.`,
    barred: () => '',
    done: () => 'Evidence starts afresh',
  },
  off: {
    label: () => 'Switch off…', title: () => 'Switch off', danger: true,
    does: () => 'The monolith serves everybody, nothing is mirrored or compared.',
    barred: r => (r.phase === 'off' ? 'The route is off already.' : ''),
    done: () => 'Switched off',
  },
};

const closedByHand = r => (r.gates ?? []).filter(g => g.by_hand && !g.open);

// shownFor lists the orders that a route's page offers: hold or resume, not both, and an
// approval where a gate waits for one.
export const shownFor = r => ['promote', ...(closedByHand(r).length ? ['approve'] : []), r.held ? 'resume' : 'hold', 'rollback', 'reset', 'off'];
