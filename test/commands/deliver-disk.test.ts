/** Deliveries to a disk that is really full: a small one, mounted where source and run are kept. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, git } from '../builder/support.ts';
import { run } from './delivered-run.ts';

test.for([{}, { to: 'deep/er/out' }])(
  'a delivery %j that finds no room says so and where, leaves nothing, and succeeds when there is room',
  async (where, context) => {
    using it = folder();
    const small = (option: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', option, 'tmpfs', it.path]);
    if (small('size=16m').status !== 0)
      return context.skip('no small disk can be mounted here (that takes root, on Linux)');
    try {
      const r = await run(it.path);
      const names = readdirSync(it.path);
      let stops = 0;
      for (let room = 1; ; room += 1) {
        const { files, ffree } = statfsSync(it.path);
        small(`remount,nr_inodes=${files - ffree + room}`);
        const code = await r.asked(where);
        small('remount,nr_inodes=10000');
        if (code === 0) break;
        stops += 1;
        expect(code, r.said()).toBe(1);
        expect(r.said()).toMatch(/[Nn]o space (?:is )?left on|unable to create directory/);
        expect(r.said()).toMatch(/^error: .*(?:src|RUN1|out)/);
        expect(r.said()).toMatch(/fix: .*space.*then do it again/);
        expect(r.said()).not.toContain('by somebody');
        expect(readdirSync(it.path)).toEqual(names);
      }
      expect(stops).toBeGreaterThan(3);
      const made = where.to === undefined ? r.source : join(it.path, where.to);
      expect(git(made, 'rev-parse', where.to === undefined ? 'factory/RUN1' : 'main')).toBe(r.head);
      expect(git(made, 'fsck', '--no-dangling')).toBe('');
      expect(existsSync(join(made, 'sub/run.sh'))).toBe(where.to !== undefined);
    } finally {
      spawnSync('umount', [it.path]);
    }
  },
);

test('a run that is only to be read is what a delivery names, and not the folder that was asked for', async (context) => {
  using it = folder();
  const runs = join(it.path, 'runs');
  mkdirSync(runs);
  const mount = (...how: string[]) => spawnSync('mount', [...how, runs]);
  if (mount('-t', 'tmpfs', 'tmpfs').status !== 0)
    return context.skip('nothing can be mounted here (that takes root, on Linux)');
  try {
    const r = await run(it.path);
    mount('-o', 'remount,ro');
    expect(await r.asked({ to: 'out' })).toBe(1);
    expect(r.said()).toMatch(/^error: .*history\.git: cannot be written: /);
    expect(r.said()).not.toContain('name another folder');
    expect(existsSync(join(it.path, 'out'))).toBe(false);
  } finally {
    spawnSync('umount', [runs]);
  }
});
