/** What no stage may see stays out of sight by whatever way something else would show it. */
import { chmodSync, existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onDisk } from '../../support/temporary.ts';
import { type Machine, machine, noBwrap, secret } from './machine.ts';

onDisk();

let it: Machine;
beforeAll(async () => {
  it = await machine();
});
afterAll(() => it[Symbol.asyncDispose]());

const usual = (process.env['PATH'] ?? '').split(':').filter((folder) => folder.startsWith('/'));
const at = (path: string) => join(it.path, path);
/** Files below the machine's folder that show the secret, and a word at the end. */
const search = 'grep -rlsF TOP-SECRET "$AT" | sort; echo looked';

describe.skipIf(noBwrap !== undefined)('by another way', () => {
  test('a folder of PATH that is a link into the workdir is not shown', async () => {
    symlinkSync(it.places.workdir, at('home/bin'));
    const { said } = await it.stage(search, { places: { path: [...usual, at('home/bin')] } });
    expect(said).toBe('looked\n');
  });

  test('nor one next to a folder of PATH that leads to a folder around the workdir', async () => {
    mkdirSync(at('tools/bin'), { recursive: true });
    writeFileSync(at('tools/bin/mine'), '#!/bin/sh\necho mine\n');
    chmodSync(at('tools/bin/mine'), 0o755);
    symlinkSync(at('home'), at('tools/share'));
    const { said } = await it.stage(`"$AT/tools/bin/mine"; ${search}`, {
      places: { path: [...usual, at('tools/bin')] },
    });
    expect(said).toBe('mine\nlooked\n');
  });

  test('nor a workdir and a folder of runs that are named by links, where their real places are shown', async () => {
    await using other = await machine();
    const shown = join(other.path, 'tools/bin');
    mkdirSync(shown, { recursive: true });
    renameSync(other.places.workdir, join(shown, 'project'));
    symlinkSync(join(shown, 'project'), other.places.workdir);
    const { said } = await other.stage(`touch here && ls "$AT/tools/bin"; ${search}`, {
      places: { path: [...usual, shown] },
    });
    expect(said).toBe('project\nlooked\n');
  });

  test('nor a judge that lies in our own program, nor a workdir and runs that do', async () => {
    mkdirSync(at('own/examples/one/scenarios'), { recursive: true });
    writeFileSync(at('own/examples/one/scenarios/a.sh'), secret);
    writeFileSync(at('own/examples/one/judge.sh'), secret);
    writeFileSync(at('own/examples/one/spec.md'), 'a spec\n');
    const judge = [at('own/examples/one/scenarios'), at('own/examples/one/judge.sh')];
    const { said } = await it.stage(
      `cat "$AT/own/examples/one/spec.md"; touch "$AT/own/examples/one/scenarios/x" 2>/dev/null && echo written; ${search}`,
      { places: { own: [at('own/examples')], judge } },
    );
    expect(said).toBe('a spec\nlooked\n');
    const within = await it.stage(`touch here && echo here; ${search}`, {
      places: { own: [it.places.workdir] },
    });
    expect(within.said).toBe('here\nlooked\n');
  });

  test('nor a workdir with the home in it, and that home can be written', async () => {
    const { said } = await it.stage(`touch "$HOME/x" && echo written; ${search}`, {
      places: { workdir: it.path },
    });
    expect(said).toBe('written\nlooked\n');
    expect(existsSync(at('home/x'))).toBe(false);
  });
});
