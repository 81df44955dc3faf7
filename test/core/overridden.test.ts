/** Which failures make a success an overridden one. */
import { expect, test } from 'vitest';
import { failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import { openFailuresAfter, overriddenIn } from '../../src/core/overridden.ts';
import type { OpenFailure } from '../../src/core/records/question.ts';

const partly: Outcome = { ...succeeded(), status: 'partial_success' };
const outcomes: Readonly<Record<string, Outcome>> = {
  ok: succeeded(),
  fail: failed('broke', 'product'),
  partly,
  skipped: { ...succeeded(), status: 'skipped' },
};
const types: Readonly<Record<string, string>> = {
  ask: 'wait.human',
  again: 'wait.human',
  v: 'verification',
  d: 'conditional',
};
const answer = { choice: 'x', label: 'Ship', by: 'Ada', at: 't', from: 'page', question_sha256: '' } as const;

/** `a:fail ask b:ok`: executions of nodes in order; gates are answered. */
function after(story: string): readonly string[] {
  let open: readonly OpenFailure[] = [];
  const visits = new Map<string, number>();
  for (const word of story.split(' ')) {
    const [node = '', how = 'ok'] = word.split(':');
    const visit = (visits.get(node) ?? 0) + 1;
    visits.set(node, visit);
    const node_type = types[node] ?? 'tool';
    open = openFailuresAfter(open, {
      node,
      node_type,
      visit,
      outcome: outcomes[how] ?? succeeded(),
      ...(node_type === 'wait.human' ? { answer } : {}),
    });
  }
  return overriddenIn({ open_failures: [...open] }).map(
    ({ node, visit, answered }) => `${node}@${visit} by ${answered.question}`,
  );
}

test.for([
  ['a:fail ask', ['a@1 by ask@1']],
  ['a:fail ask b:ok', ['a@1 by ask@1']],
  ['a:fail ask b:fail', ['a@1 by ask@1']],
  ['a:fail d:fail ask', ['a@1 by ask@1']],
  ['a:fail b:fail ask', ['a@1 by ask@1', 'b@1 by ask@1']],
  ['a:fail b:skipped ask', ['a@1 by ask@1']],
  ['a:fail b:partly ask', ['a@1 by ask@1']],
  ['a:fail ask again', ['a@1 by ask@1']],
  ['a:fail ask a:fail ask', ['a@2 by ask@2']],
  ['a:fail ask a:fail again', ['a@1 by ask@1', 'a@2 by again@1']],
  ['a:fail ask a:fail b:ok', ['a@1 by ask@1']],
  ['v:fail ask', ['v@1 by ask@1']],
  ['a:fail b:ok ask', []],
  ['a:fail a:ok ask', []],
  ['a:fail ask a:ok', []],
  ['a:fail ask a:partly', []],
  ['a:fail b:fail ask v:ok', []],
  ['a:fail b:fail ask b:ok', ['a@1 by ask@1']],
  ['ask:fail again', []],
  ['a:ok ask', []],
] as const)('after %s the failures that answers have let pass are %j', ([story, expected]) => {
  expect(after(story)).toEqual(expected);
});
