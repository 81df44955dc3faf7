/** A folder that a program sees at another place: that of a branch at the path of the run's workspace. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confine } from '../../../src/core/policy/confinement.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { relocatedRequest, relocationOf } from '../../../src/platform/sandbox/relocate.ts';
import { confining } from '../../../src/platform/sandbox/spawn.ts';
import { onDisk } from '../../support/temporary.ts';
import { ladder, type Machine, machine, noBwrap } from './machine.ts';

onDisk();

test.for<readonly [string, string]>([
  ['/r/.b/a', '/r/w'],
  ['/r/.b/a/x.ts:3', '/r/w/x.ts:3'],
  ['-I/r/.b/a/include:/r/.b/a', '-I/r/w/include:/r/w'],
  ['look into /r/.b/a. Then stop.', 'look into /r/w. Then stop.'],
  ['"/r/.b/a"', '"/r/w"'],
  ['/r/.b/ab /r/.b/a-b /r/.b/a_b /r/.b/a.1/x', '/r/.b/ab /r/.b/a-b /r/.b/a_b /r/.b/a.1/x'],
  ['/r/xb/a', '/r/xb/a'],
  ['', ''],
])('%j is %j for a program that sees /r/.b/a at /r/w', ([text, seen]) => {
  expect(relocationOf({ relocated: { from: '/r/.b/a', to: '/r/w' } })(text)).toBe(seen);
  expect(relocationOf({})(text)).toBe(text);
});

test('what is said to a program while it works names the paths that it sees', () => {
  const seen = relocationOf({ relocated: { from: '/r/.b/a', to: '/r/w' } });
  const said: string[] = [];
  const files = { stdoutFile: '/r/out', stderrFile: '/r/err' };
  const { talk } = relocatedRequest(
    {
      ...{ argv: ['agent'], cwd: '/r/.b/a', env: {}, ...files },
      talk(input) {
        input.write('{"cwd":"/r/.b/a"}\n');
        input.end();
      },
    },
    seen,
  );
  talk?.({ write: (text) => said.push(text), end: () => said.push('end') });
  expect(said).toEqual(['{"cwd":"/r/w"}\n', 'end']);
});

describe.skipIf(noBwrap !== undefined)('In a sandbox', () => {
  let it: Machine;
  beforeAll(async () => {
    it = await machine();
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test('a program works in the folder of its branch at the path of the workspace, and sees neither that nor siblings', async () => {
    const { places } = it;
    const { runDir, workspace } = places;
    const [own, sibling] = ['a', 'b'].map((id) => join(runDir, '.scratch/.branches/fan', id)) as [
      string,
      string,
    ];
    for (const folder of [own, sibling, workspace]) {
      mkdirSync(join(folder, 'kept'), { recursive: true });
      for (const file of ['whose', 'kept/frozen', 'covered']) writeFileSync(join(folder, file), folder);
    }
    const out = join(runDir, 'me/out');
    const ended = await confining(realSpawn, ladder).run({
      argv: [
        'sh',
        '-c',
        `pwd; echo $W; echo "$1"; cat "$1/whose"; cat covered; echo; ls ${sibling} 2>&1; ls -A ${runDir}; cat
          echo new > "$1/made"; (echo no >> kept/frozen) 2>&1 | grep -o Read-only; mv kept moved 2>&1 | grep -o busy`,
        'sh',
        own,
      ],
      cwd: own,
      env: { PATH: process.env['PATH'] ?? '', W: `${own}/kept` },
      stdin: `of ${own}\n`,
      stdoutFile: out,
      stderrFile: join(runDir, 'me/err'),
      confinement: {
        ...confine(
          'bwrap',
          { ...places, workspace: own },
          {
            verification: false,
            history: false,
            access: undefined,
            network: undefined,
            limits: {},
            bind: [],
          },
        ),
        relocated: { from: own, to: workspace },
        covers: [join(own, 'covered')],
        pinned: [join(own, 'kept')],
        frozen: [join(own, 'kept/frozen')],
      },
    });
    const said = readFileSync(out, 'utf8');
    expect(ended).toEqual({ kind: 'exited', code: 0 });
    expect(said.split('\n')).toEqual([
      ...[workspace, join(workspace, 'kept'), workspace, `${own}`],
      expect.stringContaining('No such file'),
      'me',
      'workspace',
      `of ${workspace}`,
      'Read-only',
      'busy',
      '',
    ]);
    expect([existsSync(join(own, 'made')), existsSync(join(workspace, 'made'))]).toEqual([true, false]);
  });
});
