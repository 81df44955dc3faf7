/** A run of an order goes on as it began: each flag that its resume is given, held against what the run has. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { notAsBegun } from '../../src/commands/order-as-begun.ts';
import { orderDefaults } from '../../src/commands/order-flags.ts';
import type { OrderRunOptions } from '../../src/commands/order-run.ts';
import { sha256 } from '../../src/model/sha256.ts';
import { folder, git, repository } from '../builder/support.ts';

const defaults = orderDefaults;

async function said(given: Partial<OrderRunOptions>, had: object = {}): Promise<string | undefined> {
  using it = folder({ 'repo/a/b': '', 'wo.json': '{}', 'run.json': 'answers', 'other.json': 'others' });
  const at = (path: string) => join(it.path, path);
  repository(at('repo'));
  mkdirSync(at('art'));
  symlinkSync('repo', at('link'));
  symlinkSync('wo.json', at('wo-link.json'));
  const head = git(at('repo'), 'rev-parse', 'HEAD');
  const request = {
    repo: at('repo'),
    work_order_path: at('wo.json'),
    branch: 'work/x',
    baseline_requested: head,
    baseline_said: 'gone',
    model: 'm',
    temperature: 0.5,
    max_attempts: 3,
    timeout_seconds: 30,
    out_dir: at('out'),
    artifacts: at('art/factory/o'),
    push: true,
    ...had,
  };
  const agent = {
    name: 'scripted',
    script: { path: 'x', sha256: sha256('answers') },
    flags: { agent: 'auto', script_sha256: sha256('flagged') },
  };
  // Only what is looked at.
  const words = await notAsBegun({ ...defaults, ...given }, request as never, { agent } as never, {
    cwd: it.path,
    env: process.env,
  });
  return words?.replaceAll(`${it.path}/`, '').replace(head, 'HEAD');
}

test.for<[Partial<OrderRunOptions>, string]>([
  [{ repo: '.' }, "--repo . is not the run's, repo"],
  [{ workOrder: 'run.json' }, "--work-order run.json is not the run's, wo.json"],
  [{ branch: 'work/y' }, "--branch work/y is not the run's, work/x"],
  [{ commitHash: 'nothing' }, "--commit-hash nothing is not the run's, HEAD"],
  [{ model: 'n' }, "--model n is not the run's, m"],
  [{ llmModel: 'n' }, "--llm-model n is not the run's, m"],
  [{ llmTemperature: 0 }, "--llm-temperature 0 is not the run's, 0.5"],
  [{ maxAttempts: 4 }, "--max-attempts 4 is not the run's, 3"],
  [{ timeoutSeconds: 31 }, "--timeout-seconds 31 is not the run's, 30"],
  [{ out: 'in' }, "--out in is not the run's, out"],
  [{ artifactsDir: 'repo' }, "--artifacts-dir repo is not the run's, art/factory/o"],
  [{ agent: 'fake' }, "--agent fake is not the run's, scripted"],
  [{ script: 'other.json' }, "--script other.json is not the run's"],
  [{ script: 'none.json' }, "--script none.json is not the run's"],
  [{ push: false }, "--no-push is not the run's, which pushes"],
])('%j is refused: %s', async ([given, words]) => {
  expect(await said(given)).toBe(words);
});

test.for<[string, Partial<OrderRunOptions>, object?]>([
  ['nothing that is said', {}],
  ['a folder of the repository, by a link', { repo: 'link/a' }],
  ['the order by a link', { workOrder: 'wo-link.json' }],
  ['the name that was given, wherever it stands', { commitHash: 'gone' }],
  ['another name of the commit', { commitHash: 'HEAD' }],
  [
    'all that it has',
    { branch: 'work/x', model: 'm', llmTemperature: 0.5, maxAttempts: 3, timeoutSeconds: 30 },
  ],
  ['the folders that it has', { out: 'out', artifactsDir: 'art' }],
  ['the agent by the word that was said', { agent: 'auto' }],
  ['the agent that it came to', { agent: 'scripted' }],
  ['the same script from another place', { script: 'run.json' }],
  ['no push of a run without one', { push: false }, { push: false }],
])('%s is the same', async ([, given, had]) => {
  expect(await said(given, had)).toBeUndefined();
});

test('of a run without a copy of its artifacts, that is told', async () => {
  expect(await said({ out: 'out' }, { out_dir: null })).toBe("--out out is not the run's, none");
});
