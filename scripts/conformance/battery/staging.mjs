/** The folders of a case before its first step. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fill } from '../expand.mjs';
import { copyTree, link, put } from '../folders.mjs';

const token = /\{\{([A-Z]+)\}\}/g;

/** The names of locations that a case may use. */
export function valuesFor(root, described, scripts) {
  const places = {
    ROOT: root,
    WORKDIR: join(root, 'work'),
    BIN: join(root, 'bin'),
    CAP: join(root, 'cap'),
    SCRIPTS: scripts ?? '',
    RUNID: 'r1',
  };
  const runs = described.runsdir === undefined ? join(root, 'runs') : fill(described.runsdir, token, places);
  const run = join(runs, places.RUNID);
  return { ...places, RUNSDIR: runs, RUNDIR: run, WS: join(run, 'workspace') };
}

export const withValues = (value, values) => fill(value, token, values);

/** Resolves `run:events.jsonl` and the like to a path. */
export function locator(values) {
  const places = {
    run: values.RUNDIR,
    ws: values.WS,
    cap: values.CAP,
    work: values.WORKDIR,
    root: values.ROOT,
    runs: values.RUNSDIR,
  };
  return (location) => {
    const [, place, path] = /^(run|ws|cap|work|root|runs):(.*)$/s.exec(location) ?? [];
    if (place === undefined) throw new Error(`there is no location ${location}`);
    return join(places[place], path);
  };
}

/** Adds files, folders, links and permissions, and removes files. */
export function addTree(base, { dirs = [], files = {}, symlinks, exec = [], remove = [] } = {}) {
  for (const folder of dirs) mkdirSync(join(base, folder), { recursive: true });
  const content = (it) => (typeof it === 'string' ? it : Buffer.from(it.base64, 'base64'));
  put(base, Object.fromEntries(Object.entries(files).map(([path, it]) => [path, content(it)])));
  link(base, symlinks);
  for (const path of exec) chmodSync(join(base, path), 0o755);
  for (const path of remove) rmSync(join(base, path), { recursive: true, force: true });
}

export function stage(folder, described, values) {
  for (const name of ['work', 'bin', 'home', 'tmp', 'cap']) mkdirSync(join(values.ROOT, name));
  if (existsSync(join(folder, 'workdir'))) copyTree(join(folder, 'workdir'), values.WORKDIR);
  addTree(values.WORKDIR, described.workdir);
  addTree(values.ROOT, described.root);
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.dot')))
    put(values.ROOT, { [name]: withValues(readFileSync(join(folder, name), 'utf8'), values) });
  installCodex(folder, described.codex, values);
}

/** A stub of the agent program is always first on PATH: no case can start a real one. */
function installCodex(folder, codex, values) {
  const script = (file, body) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, body, { mode: 0o755 });
  };
  const onPath = join(values.BIN, 'codex');
  if (codex === undefined)
    return script(onPath, '#!/bin/sh\necho "this case has no agent program" >&2\nexit 97\n');
  const beside = join(folder, '../../fixtures/codex.head.sh');
  const head = readFileSync(existsSync(beside) ? beside : join(import.meta.dirname, 'codex.head.sh'), 'utf8');
  const body = [codex.script ?? 'ok; finish 0'].flat().join('\n');
  if (codex.install !== undefined) script(onPath, '#!/bin/sh\necho "the wrong agent program" >&2\nexit 98\n');
  const file = codex.install === undefined ? onPath : join(values.ROOT, codex.install);
  script(file, `${withValues(head, values)}${body}\n`);
}
