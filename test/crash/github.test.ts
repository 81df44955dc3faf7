/** `factory intake`, `pr` and `follow` are killed at a sample of their writes and requests, and called again: one comment each, one push,
 *  one pull request, one job. `CRASH_GITHUB_EVERY=1` kills at all of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';
import { bundle } from './bundle.ts';
import { killedStories, killedStory, spellKill } from './github-kills.ts';

onDisk();

const known = process.platform === 'linux';
/** One point of so many; in a sample, so many points of each command. */
const every = Number(process.env['CRASH_GITHUB_EVERY'] ?? '0');
const sample = 2;

describe.skipIf(!known)('killed commands that ask GitHub', () => {
  let folder: string;
  let cli: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'crash-cli-'));
    cli = await bundle(root, join(folder, 'package'));
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.for(killedStories)('$name', { timeout: every === 0 ? 240_000 : 7_200_000 }, async (story) => {
    await using it = await killedStory(cli, story);
    const { points, facts } = await it.undisturbed();
    const step = every === 0 ? points.length / sample : every;
    const chosen = points.filter((_, at) => Math.floor(at % step) === Math.floor(step / 2));
    const wrong: string[] = [];
    let killed = 0;
    for (const point of chosen) {
      const { ended, said, facts: after } = await it.killedAt(point);
      // How often a command writes differs by a few: it may end before the last of them.
      if (ended === 'SIGKILL') killed++;
      try {
        expect(after).toEqual(facts);
      } catch (error) {
        wrong.push(`${spellKill(point)}: ${String(error)}\n${said}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(killed).toBeGreaterThanOrEqual(chosen.length / 2);
    expect(chosen.length).toBeGreaterThanOrEqual(sample);
  });
});
