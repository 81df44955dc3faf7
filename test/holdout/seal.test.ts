/** What a run would seal, and what it refuses to, before anything is made. */
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { seesHoldout } from '../../src/holdout/mount.ts';
import { chooseHoldout } from '../../src/holdout/seal.ts';
import { findingsOf, graphOf, typedText } from '../support/graph.ts';
import { make, tempFolder, type Wanted } from '../workspace/folders.ts';

const tree: Wanted = {
  'w/scripts/scenarios/judge.sh': { text: 'judge', mode: 0o755 },
  'w/tests/hidden/a.txt': 'a',
  'w/tests/.git/HEAD': 'ref',
  'judge/check.sh': 'check',
  'empty/deep/.git/HEAD': 'ref',
  '.factory/runs/x/a': 'a',
  'p.dot': '',
};

async function wanted(
  attributes: string,
  flag?: string,
  more: { readonly files?: Wanted; readonly workdir?: string | undefined; readonly keys?: string } = {},
) {
  const temp = tempFolder();
  make(temp.path, { ...tree, ...more.files });
  symlinkSync('scripts/scenarios', join(temp.path, 'w/door'));
  execFileSync('mkfifo', [join(temp.path, 'w/pipe')]);
  const { graph } = typedText(`digraph g { ${attributes} start -> exit }`, join(temp.path, 'p.dot'));
  const found = await chooseHoldout(graph, {
    flag,
    cwd: temp.path,
    workdir: 'workdir' in more ? more.workdir : join(temp.path, 'w'),
    runsDir: join(temp.path, '.factory/runs'),
    env: { HOME: temp.path, FACTORY_KEYS: more.keys === undefined ? undefined : join(temp.path, more.keys) },
  });
  await temp[Symbol.asyncDispose]();
  return found;
}

const named = (found: Awaited<ReturnType<typeof wanted>>) =>
  'problem' in found || found.chosen === undefined
    ? found
    : {
        paths: found.chosen.paths,
        own: found.chosen.own.map(({ path }) => path),
        given: found.chosen.given?.map(({ path }) => path),
      };

describe('a run seals', () => {
  test('the default folder, and nothing if it does not exist', async () => {
    expect(named(await wanted(''))).toEqual({
      paths: ['scripts/scenarios'],
      own: ['scripts/scenarios', 'scripts/scenarios/judge.sh'],
      given: undefined,
    });
    expect(named(await wanted('', undefined, { workdir: undefined }))).toEqual({ wanted: undefined });
    const ignored = { 'w/.factoryignore': 'scripts/scenarios/\n' };
    expect(named(await wanted('', undefined, { files: ignored }))).toEqual({ wanted: undefined });
  });

  test('the usual place, written out, also where it is missing', async () => {
    const attribute = 'holdout="scripts/scenarios/"';
    expect(named(await wanted(attribute, undefined, { workdir: undefined }))).toEqual({ wanted: undefined });
  });

  test('files and folders that are named, without the repositories in them', async () => {
    expect(named(await wanted('holdout="tests, p/../p"'.replace(', p/../p', '')))).toEqual({
      paths: ['tests'],
      own: ['tests', 'tests/hidden', 'tests/hidden/a.txt'],
      given: undefined,
    });
  });

  test('a folder from elsewhere in place of the first path, and the other named paths', async () => {
    const found = await wanted('holdout="hidden/judge/, tests/hidden"', 'judge');
    expect(named(found)).toEqual({
      paths: ['hidden/judge', 'tests/hidden'],
      own: ['tests/hidden', 'tests/hidden/a.txt'],
      given: ['hidden/judge', 'hidden/judge/check.sh'],
    });
  });
});

test.for<[string, string | undefined, string, RegExp]>([
  ['a folder that is not there', 'nowhere', '', /^--holdout: .*nowhere does not exist/],
  ['no name', '', '', /names no folder/],
  ['a file', 'p.dot', '', /p\.dot is not a folder/],
  ['a folder without files', 'empty', '', /has no files in it/],
  ['a folder of runs', '.factory/runs/x', '', /lies in the runs directory/],
  ['what holds the runs', '.factory', '', /contains the runs directory/],
  ['the workdir', 'w', '', /is the workdir, or contains it/],
  [
    'a folder that the pipeline names and that is not there',
    undefined,
    'holdout_from="x"',
    /^holdout_from: .*x does not/,
  ],
  [
    'a path that does not exist',
    undefined,
    'holdout="tests/none/"',
    /there is no "tests\/none" in the workdir/,
  ],
  ['a link', undefined, 'holdout="door"', /"door" cannot be sealed: it is a link/],
  [
    'a way over a link',
    undefined,
    'holdout="door/judge.sh"',
    /"door\/judge.sh" cannot be sealed: "door" is a link/,
  ],
  ['a way over a link for a folder from elsewhere', 'judge', 'holdout="door/x"', /"door" is a link/],
  ['a pipe', undefined, 'holdout="pipe"', /"pipe" cannot be sealed: it is a socket, a pipe or a device/],
  ['the whole workdir', undefined, 'holdout="./"', /is the whole workspace/],
  ['keys next to the files that they decrypt', 'keys', '', /would lie in the runs directory/],
])('a run refuses %s', async ([, flag, attribute, why]) => {
  const keys = flag === 'keys' ? { keys: '.factory/runs/keys' } : {};
  const found = await wanted(attribute, flag === 'keys' ? undefined : flag, keys);
  expect(found).toHaveProperty('problem.message', expect.stringMatching(why));
  expect(found).toHaveProperty('problem.fix', expect.stringMatching(/\w+ /));
  const placed = attribute !== '' && flag === undefined;
  if (placed) expect(found).toHaveProperty('problem.place.span');
});

test.for<[string, string, boolean]>([
  ['tool', '', true],
  ['tool', 'sees_holdout=false', false],
  ['tool', 'access=run', false],
  ['tool', 'access="run:ro"', false],
  ['tool', 'access=run, sees_holdout=true', true],
  ['verification', '', true],
  ['verification', 'sees_holdout=false', false],
  ['codergen', '', false],
  ['codergen', '"codex.allow_read_scenarios"=true', true],
  ['codergen', '"claude.allow_read_scenarios"=true', true],
  ['codergen', '"command.allow_read_scenarios"=true', true],
  ['codergen', '"openai.allow_read_scenarios"=true', true],
  ['codergen', '"codex.allow_read_scenarios"=false', false],
])('a %s node with [%s] sees what is sealed: %s', ([type, attributes, sees]) => {
  const node = graphOf(`n [type=${type}, ${attributes}]`).nodes.get('n');
  expect(node === undefined ? undefined : seesHoldout(node, type)).toBe(sees);
});

test('sees_holdout on a node that asks an agent is an error that names the attribute to use', () => {
  const found = (attributes: string) =>
    findingsOf(`digraph g { n [${attributes}] }`).filter(({ code }) => code === 'sees-holdout');
  expect(found('sees_holdout=true')).toMatchObject([
    { severity: 'error', fix: expect.stringContaining('codex.allow_read_scenarios') },
  ]);
  expect(found('')).toEqual([]);
});
