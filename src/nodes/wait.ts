/** Waits for a time: a short one within the run, a long one while the run is suspended. */
import { kind } from '../core/contracts/node-kind.ts';
import { waitType } from '../core/graph.ts';
import { failed, succeeded } from '../core/outcome.ts';
import { plainSuccess } from '../core/possible-outcomes.ts';
import { commonAttributes } from '../core/settings/node.ts';
import { attr, duration, present } from '../core/settings/types.ts';
import { describeMs } from './command-failure.ts';

export const wait = kind({
  type: waitType,
  does: 'Waits. For longer than `park_after` the run is suspended, without any process, and resumes at that time.',
  shapes: ['insulator'],
  ids: [],
  executable: false,
  attributes: {
    ...commonAttributes,
    duration: attr(
      duration(),
      'How long the node waits. A wait that is longer than `park_after` suspends the run until then.',
      { example: '10m' },
    ),
  },
  outcomes: () => [plainSuccess],
  codes: [
    {
      code: 'wait-duration',
      severity: 'error',
      rule: 'A wait says how long it lasts.',
      wrong: 'start; exit; pause [shape=insulator]; start -> pause -> exit',
      fix: '`duration=10m`',
    },
  ],
  check(node, { file }) {
    if (present(node.attrs, 'duration') !== undefined) return [];
    return [
      {
        code: 'wait-duration',
        severity: 'error',
        message: `node "${node.id}" waits, but has no duration`,
        place: { file, span: node.span },
        fix: 'write duration=10m',
      },
    ];
  },
  async run({ duration: ms = 0 }, { wait: waits, signal }) {
    if (await waits(ms)) return succeeded({ notes: `waited ${describeMs(ms)}` });
    return signal.aborted
      ? failed('cancelled', 'cancelled', { broke: true })
      : failed(`the time of the run was over before the wait of ${describeMs(ms)}`, 'timeout', {
          broke: true,
        });
  },
});
