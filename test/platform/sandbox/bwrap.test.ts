/** What is made ready for a sandbox before it is started. */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Confinement } from '../../../src/core/contracts/sandbox.ts';
import { fence, Superseded } from '../../../src/platform/files/fence.ts';
import { bwrapArguments } from '../../../src/platform/sandbox/bwrap.ts';
import { temp } from '../temp.ts';

test('nothing is made ready in a run that is another’s by now', async () => {
  await using it = await temp();
  const open = fence(it.dir, () => {
    throw new Superseded('taken');
  });
  const confinement = { inside: [], masks: [], binds: [], scratch: it.at('scratch/work') };
  expect(() => bwrapArguments(confinement as unknown as Confinement, '/')).toThrow(Superseded);
  expect(existsSync(it.at('scratch'))).toBe(false);
  open();
});

// On most systems `/bin` is a link into `/usr`.
test.skipIf(lstatSync('/bin', { throwIfNoEntry: false })?.isSymbolicLink() !== true)(
  'what is shown or masked under a link in a system folder is laid over the place that it leads to',
  async () => {
    await using it = await temp();
    const base = { binds: [], covers: [], pinned: [], scratch: it.at('scratch/work') };
    const words = (part: Partial<Confinement>) =>
      bwrapArguments({ ...base, inside: [], masks: [], ...part } as unknown as Confinement, '/').join(' ');
    const place = realpathSync('/bin');
    expect(words({ inside: [{ path: '/bin', write: false }] })).toContain(`--ro-bind-try ${place} ${place}`);
    expect(words({ masks: ['/bin'] })).toContain(`--tmpfs ${place} `);
    expect(words({ masks: ['/bin'] })).not.toContain('--tmpfs /bin ');
  },
);

test('only a sandbox for nested ones mounts a complete /proc, hidden, and only for root', async () => {
  await using it = await temp();
  const base = { binds: [], covers: [], pinned: [], inside: [], masks: [], scratch: it.at('scratch/work') };
  const words = (part: Partial<Confinement>) =>
    bwrapArguments({ ...base, ...part } as unknown as Confinement, '/').join(' ');
  const whole = '--bind /proc /run/.proc/proc --tmpfs /run/.proc --remount-ro /run/.proc';
  expect(words({})).not.toContain('/run/.proc');
  expect(words({ parts: true })).not.toContain('/run/.proc');
  expect(words({ nested: true }).includes(whole)).toBe(process.getuid?.() === 0);
});
