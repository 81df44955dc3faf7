/** The command lines that the page shows and the API starts. */
import { expect, test } from 'vitest';
import { deliverArguments, typedCommand } from '../../src/app/typed-command.ts';
import { forkArguments, resumeArguments, startArguments } from '../../src/web/command-line.ts';

test.for<[argv: readonly string[], typed: string]>([
  [
    startArguments({
      pipeline: 'my pipeline.dot',
      vars: { spec: 'docs/spec.md', who: "O'Brien", dash: '-x' },
      agent: 'codex',
      model: 'gpt-5.2',
      limits: { max_cost_usd: 2.5, max_wall: '2h' },
    }),
    String.raw`run 'my pipeline.dot' --var spec=docs/spec.md --var 'who=O'\''Brien' --var dash=-x --agent codex --model gpt-5.2 --max-cost-usd 2.5 --max-wall 2h`,
  ],
  [startArguments({ pipeline: 'build', vars: {}, limits: {} }), 'run build'],
  [startArguments({ pipeline: '-x.dot', vars: {}, limits: {} }), 'run ./-x.dot'],
  [startArguments({ pipeline: 'build', vars: {}, agent: '-x', limits: {} }), 'run build --agent=-x'],
  [
    resumeArguments('01M8', { now: true, accept_changes: true, limits: { max_steps: 9 } }),
    'resume 01M8 --now --accept-changes --max-steps 9',
  ],
  [forkArguments('01M8', { at: 'verify@3', before: true }), 'fork 01M8 --at verify@3 --before'],
  [forkArguments('01M8', { at: 'verify', before: false }), 'fork 01M8 --at verify'],
  [deliverArguments('01M8', { branch: 'factory/01M8', reuse: false, push: true }), 'deliver 01M8 --push'],
  [deliverArguments('01M8', { branch: 'x', reuse: true }), 'deliver 01M8 --branch x --reuse'],
  [deliverArguments('01M8', { to: '../new' }), 'deliver 01M8 --to ../new'],
])('%j is shown as %s', ([argv, typed]) => {
  expect(typedCommand('npx factory', argv)).toBe(`npx factory ${typed}`);
});
