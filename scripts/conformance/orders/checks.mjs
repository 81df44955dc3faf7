/** Checks output and files of a step's command, except the repository. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { at, endedWith, same } from '../compare.mjs';
import { newestRun, readJson, stagesOf } from './command.mjs';

export function checkEnding({ step, run }, found) {
  const expected = step.expect;
  if (run.error !== undefined) found.differs('the command', 'a start', run.error.message);
  if (run.timedOut) found.differs('the command', 'an end', `none within ${Math.round(run.elapsed / 1000)} s`);
  else if (expected.exitCode !== undefined && !endedWith(run, expected.exitCode)) {
    const said = (run.stderr.trim() === '' ? run.stdout : run.stderr).slice(-300);
    found.differs('exit code', expected.exitCode, `${run.code ?? run.signal}, saying ${said}`);
  }
  const who = step.do === 'plan' ? 'planner' : 'se';
  for (const [model, count] of Object.entries(expected.calls ?? {}))
    if (count !== null) found.equal(`calls of ${model}`, count, model === who ? run.prompts.length : 0);
  for (const wanted of expected.prompts ?? []) {
    const prompt = run.prompts[wanted.call - 1];
    const what = `prompt ${wanted.call}`;
    if (prompt === undefined) found.differs(what, 'a call', 'none');
    found.contains(what, prompt, wanted.contains);
    found.lacks(what, prompt, wanted.omits);
    if (wanted.equals !== undefined) found.equal(what, wanted.equals, prompt);
  }
  found.contains('stderr', run.stderr, expected.stderr);
  found.contains('stdout', run.stdout, expected.stdout);
  if (expected.maxSeconds !== undefined) {
    const seconds = run.elapsed / 1000;
    found.check(
      'time',
      seconds <= expected.maxSeconds,
      `at most ${expected.maxSeconds} s`,
      `${seconds.toFixed(1)} s`,
    );
  }
}

export function checkArtifacts({ step, place }, found) {
  const expected = step.expect;
  const folderOf = (kind) => newestRun(place.artifacts, kind);
  if (expected.verdict !== undefined || expected.stages !== undefined) {
    const summary = readJson(join(folderOf('factory') ?? '/nowhere', 'run_summary.json'));
    if (expected.verdict !== undefined) found.equal('verdict', expected.verdict, summary?.verdict);
    if (expected.stages !== undefined) found.equal('stages', expected.stages, stagesOf(summary));
  }
  for (const wanted of expected.artifacts ?? []) {
    const folder = folderOf(wanted.in ?? (step.do === 'plan' ? 'planner' : 'factory'));
    checkArtifact(wanted, folder, found);
  }
}

function checkArtifact(wanted, folder, found) {
  const file = folder === undefined ? undefined : join(folder, wanted.path);
  const there = file !== undefined && existsSync(file);
  if (wanted.exists !== undefined || !there) {
    const should = wanted.exists ?? true;
    found.check(
      `artifact ${wanted.path}`,
      there === should,
      should ? 'there' : 'not there',
      there ? 'there' : 'not there',
    );
  }
  if (!there || statSync(file).isDirectory()) return;
  const text = readFileSync(file, 'utf8');
  found.contains(wanted.path, text, wanted.contains);
  found.lacks(wanted.path, text, wanted.omits);
  if (wanted.size !== undefined) {
    const size = statSync(file).size;
    found.check(`size of ${wanted.path}`, matches(size, wanted.size, folder), wanted.size, size);
  }
  if (wanted.json === undefined && wanted.jsonAbsent === undefined) return;
  const value = readJson(file);
  if (value === undefined) found.differs(wanted.path, 'JSON', text);
  for (const [pointer, condition] of Object.entries(wanted.json ?? {})) {
    const got = at(value, pointer);
    found.check(`${wanted.path} ${pointer}`, matches(got, condition, folder), condition, got);
  }
  for (const pointer of [wanted.jsonAbsent ?? []].flat()) {
    const got = at(value, pointer);
    found.check(`${wanted.path} ${pointer}`, got === undefined, 'nothing', got);
  }
}

/** Compares with a value, or with a condition, an object with one key. */
function matches(value, condition, folder) {
  const keys = typeof condition === 'object' && condition !== null ? Object.keys(condition) : [];
  const [key] = keys;
  if (keys.length !== 1) return same(value, condition);
  switch (key) {
    case '$re':
      return typeof value === 'string' && new RegExp(`^(?:${condition.$re})$`).test(value);
    case '$len':
      return value !== null && typeof value === 'object' && Object.keys(value).length === condition.$len;
    case '$strlen':
      return typeof value === 'string' && [...value].length === condition.$strlen;
    case '$runId':
      return value === basename(folder);
    case '$max':
    case '$lte':
      return typeof value === 'number' && value <= condition[key];
    case '$min':
    case '$gte':
      return typeof value === 'number' && value >= condition[key];
    default:
      return same(value, condition);
  }
}

export function checkFolders({ step, place }, found) {
  const expected = step.expect;
  if (expected.outdirFiles !== undefined) {
    const got = existsSync(place.outdir) ? readdirSync(place.outdir).sort() : [];
    found.equal('files in the output folder', [...expected.outdirFiles].sort(), got);
  }
  for (const pattern of [expected.workGlob ?? []].flat())
    found.check(
      'the work folder',
      globbed(place.work, pattern.split('/')),
      `something at ${pattern}`,
      'nothing',
    );
  for (const pattern of [expected.workAbsent ?? []].flat())
    found.check(
      'the work folder',
      !globbed(place.work, pattern.split('/')),
      `nothing at ${pattern}`,
      'something',
    );
}

/** Whether a path exists; its parts may have `*` and `?`. */
function globbed(folder, [part, ...rest]) {
  if (part === undefined) return true;
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return false;
  const pattern = part
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/\?/g, '.');
  const names = readdirSync(folder).filter((name) => new RegExp(`^${pattern}$`).test(name));
  return names.some((name) => rest.length === 0 || globbed(join(folder, name), rest));
}
