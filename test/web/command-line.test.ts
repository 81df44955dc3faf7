/** The command lines that the page shows and the API starts. */
import { expect, test } from 'vitest';
import { deliverArguments, typedCommand } from '../../src/app/typed-command.ts';
import {
  forkArguments,
  removeArguments,
  replayArguments,
  resumeArguments,
} from '../../src/web/command-line.ts';
import { startArguments } from '../../src/web/start-arguments.ts';
import { startBodySchema } from '../../src/web/start-contract.ts';

const started = (body: object, texts: Readonly<Record<string, string>> = {}) =>
  startArguments(startBodySchema().parse(body), texts);

test.for<[argv: readonly string[], typed: string]>([
  [
    started({
      pipeline: 'my pipeline.dot',
      vars: { spec: 'docs/spec.md', who: "O'Brien", dash: '-x' },
      agent: 'codex',
      model: 'gpt-5.2',
      limits: { max_cost_usd: 2.5, max_wall: '2h' },
    }),
    String.raw`run 'my pipeline.dot' --var spec=docs/spec.md --var 'who=O'\''Brien' --var dash=-x --agent codex --model gpt-5.2 --max-wall 2h --max-cost-usd 2.5`,
  ],
  [started({ pipeline: 'build', vars: {}, limits: {} }), 'run build'],
  [started({ pipeline: '-x.dot', vars: {}, limits: {} }), 'run ./-x.dot'],
  [started({ pipeline: 'build', vars: {}, agent: '-x', limits: {} }), 'run build --agent=-x'],
  [
    started(
      {
        ...{ pipeline: 'build', on_project: true, holdout_from: 'hidden', sandbox: 'bwrap', wait: true },
        ...{ notify: 'https://example.org/hook', allow_dirty: true, texts: { spec: '# Links' } },
      },
      { spec: '.factory/runs/.given/01M8/spec.md' },
    ),
    'run build --var spec=@.factory/runs/.given/01M8/spec.md --sandbox bwrap --holdout hidden --workdir . --wait --allow-dirty --notify https://example.org/hook',
  ],
  [replayArguments('01M8', { run_tools: true }), 'replay 01M8 --run-tools'],
  [removeArguments('01M8', { force: false }), 'rm 01M8'],
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
