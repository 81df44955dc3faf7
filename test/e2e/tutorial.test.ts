/** The tutorial, done literally: the commands of each of its two ways, one after another in a shell. */
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { cleanEnv, home, root } from '../support/cli.ts';

const text = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
const commandsOf = (heading: string): string => {
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const own = section.split('\n## ')[0] ?? '';
  return [...own.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block).join('');
};

const ways = [
  ['Python', 'notes', 'work/search', '1  Call Ada about the pears'],
  ['Node', 'units', 'work/temperatures', '212'],
] as const;
// A build with real programs each.
const options = { timeout: 300_000 };
const person = {
  ...{ GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.org' },
  ...{ GIT_COMMITTER_NAME: 'Ada', GIT_COMMITTER_EMAIL: 'ada@example.org' },
};

test.for(ways)(
  'the steps for %s end with the feature in the project',
  options,
  async ([heading, folder, branch, last]) => {
    await using it = await home();
    // The clone, of which the tutorial needs only the example.
    const clone = join(it.path, 'clone');
    mkdirSync(clone);
    symlinkSync(join(root, 'examples'), join(clone, 'examples'));
    const env = cleanEnv(person);
    const ran = await execa('bash', ['-euo', 'pipefail', '-c', commandsOf(heading)], {
      cwd: clone,
      env: { ...env, PATH: `${join(root, 'dist/bin')}:${env['PATH']}` },
      extendEnv: false,
      reject: false,
    });
    expect(ran.exitCode, `${ran.stdout}\n${ran.stderr}`).toBe(0);
    expect(ran.stdout.split('\n').at(-1)).toBe(last);
    expect(`${ran.stdout}\n${ran.stderr}`).toContain(
      'scenarios 1 of 1 (floor held), strength not measured, 0 of 1 passed before the work',
    );
    const { stdout: log } = await execa('git', ['-C', join(it.path, folder), 'log', '--format=%s', branch]);
    expect(log.split('\n').map((line) => line.replace(/:.*/, ''))).toEqual(['WO-02', 'WO-01', 'The project']);
  },
);
