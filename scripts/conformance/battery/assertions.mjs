/** Expectations of a run: one object each, distinguished by the key of the checked item. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { exitCodeOf, short } from '../compare.mjs';
import { isAlive } from '../processes.mjs';
import { argv } from './argv.mjs';
import { dig, fits, mismatch } from './match.mjs';

const text = (file) => readFileSync(file, 'utf8');
const about = (what, wrong) => (wrong === null ? null : `${what}: ${wrong}`);
const isFolder = (path) => existsSync(path) && statSync(path).isDirectory();

/** Each takes the expectation and the state of the case; returns null or the problem. */
const kinds = {
  exit: (e, { last }) => about('exit code', mismatch(exitCodeOf(last), e.exit)),
  elapsedMs: (e, { last }) => about('milliseconds', mismatch(last.elapsed, e.elapsedMs)),
  stderr: (e, { last }) => about('stderr', mismatch(text(last.err), e.stderr)),
  stdout: (e, { last }) => about('stdout', mismatch(text(last.out), e.stdout)),
  output: (e, { last }) => about('stdout and stderr', mismatch(text(last.out) + text(last.err), e.output)),
  visited(e, { locate }) {
    const file = locate('run:events.jsonl');
    const events = existsSync(file) ? readLines(file) : [];
    const nodes = events.filter(({ type }) => type === 'StageStarted').map(({ node_id }) => node_id);
    return about('visited nodes', mismatch(nodes, e.visited));
  },
  pidGone(e, { locate, reap }) {
    const file = locate(e.pidGone);
    if (!existsSync(file)) return `${e.pidGone}: expected a process id, got no file`;
    const pid = Number(text(file));
    reap.push(pid);
    return isAlive(pid) ? `the process of ${e.pidGone}: expected to be gone, got ${pid} running` : null;
  },
  dir(e, { locate }) {
    const folder = locate(e.dir);
    if (e.exists === false) return existsSync(folder) ? `${e.dir}: expected nothing, got something` : null;
    if (!isFolder(folder)) return `${e.dir}: expected a folder, got none`;
    return e.entries === undefined ? null : about(e.dir, mismatch(readdirSync(folder).sort(), e.entries));
  },
  file(e, { locate }) {
    const file = locate(e.file);
    if (e.exists === false) return existsSync(file) ? `${e.file}: expected nothing, got something` : null;
    if (!existsSync(file)) return `${e.file}: expected a file, got none`;
    if (e.exec !== undefined && ((statSync(file).mode & 0o111) !== 0) !== e.exec)
      return `${e.file} executable: expected ${e.exec}, got ${!e.exec}`;
    if (e.base64 !== undefined && readFileSync(file).toString('base64') !== e.base64)
      return `${e.file}: expected other bytes, got ${short(readFileSync(file).toString('base64'))}`;
    return e.is === undefined ? null : about(e.file, mismatch(text(file), e.is));
  },
  json(e, { locate }) {
    const file = locate(e.json);
    if (!existsSync(file)) return `${e.json}: expected a file, got none`;
    let value;
    try {
      value = JSON.parse(text(file));
    } catch (error) {
      return `${e.json}: expected JSON, got ${error.message}`;
    }
    for (const [path, condition] of Object.entries(e.has ?? { [e.at ?? '']: e.is })) {
      const wrong = mismatch(dig(value, path), condition);
      if (wrong !== null) return `${e.json} ${path || '(root)'}: ${wrong}`;
    }
    return null;
  },
  records(e, { locate }) {
    const file = locate(e.records);
    if (!existsSync(file)) return e.count === 0 ? null : `${e.records}: expected a file, got none`;
    const hits = readLines(file).filter((record) => fits(record, e.where));
    const what = `${e.records} ${short(e.where ?? {})}`;
    const least = e.count ?? e.min ?? 1;
    const most = e.count ?? e.max ?? Number.POSITIVE_INFINITY;
    if (hits.length < least || hits.length > most)
      return `${what}: expected ${least}${most === least ? '' : ' or more'} records${Number.isFinite(most) && most !== least ? `, at most ${most}` : ''}, got ${hits.length}`;
    const looked = e.which === 'last' ? hits.slice(-1) : e.which === 'first' ? hits.slice(0, 1) : hits;
    for (const record of looked)
      for (const [path, condition] of Object.entries(e.each ?? {})) {
        const wrong = mismatch(dig(record, path), condition);
        if (wrong !== null) return `${what} ${path}: ${wrong}`;
      }
    return null;
  },
  /** Types, optionally with `:node`, that occur in this order, with others between them. */
  order(e, { locate }) {
    const file = locate(e.order);
    if (!existsSync(file)) return `${e.order}: expected a file, got none`;
    const records = readLines(file);
    let next = 0;
    for (const wanted of e.types) {
      const [type, node] = wanted.split(':');
      const found = records.findIndex(
        (one, n) =>
          n >= next &&
          one.type === type &&
          (!node || [one.node_id, one.from_node, one.last_completed_node].includes(node)),
      );
      if (found < 0)
        return `${e.order}: expected ${wanted} in its place, got ${records.map(({ type }) => type).join(', ')}`;
      next = found + 1;
    }
    return null;
  },
  argv: (e, { locate }) => argv(e, locate(e.argv)),
  lines(e, { locate }) {
    const file = locate(e.lines);
    if (!existsSync(file)) return `${e.lines}: expected a file, got none`;
    return about(e.lines, mismatch(text(file).split('\n').filter(Boolean), e.is));
  },
  stderrJsonLines(e, { last }) {
    const lines = text(last.err)
      .split('\n')
      .filter((line) => line.trim() !== '');
    const least = e.stderrJsonLines.min ?? 1;
    if (lines.length < least) return `lines on stderr: expected at least ${least}, got ${lines.length}`;
    const bad = lines.find((line) => !isJson(line));
    return bad === undefined ? null : `stderr: expected JSON lines, got ${short(bad)}`;
  },
  onlyRunDir(e, { values }) {
    const runs = existsSync(values.RUNSDIR) ? readdirSync(values.RUNSDIR) : [];
    if (runs.length !== 1) return `the runs folder: expected one entry, got ${short(runs)}`;
    const wrong = mismatch(runs[0], e.onlyRunDir.name);
    if (wrong !== null) return `the run's id: ${wrong}`;
    const missing = (e.onlyRunDir.has ?? []).find((name) => !existsSync(join(values.RUNSDIR, runs[0], name)));
    return missing === undefined ? null : `${runs[0]}/${missing}: expected a file, got none`;
  },
};

/** null, or the problem with the note of the expectation. */
export function assertion(expected, standing) {
  const kind = Object.keys(kinds).find((key) => key in expected);
  if (kind === undefined) return `an expectation of an unknown kind: ${short(expected)}`;
  try {
    const wrong = kinds[kind](expected, standing);
    return wrong === null || expected.note === undefined ? wrong : `${wrong} (${expected.note})`;
  } catch (error) {
    return `${short(expected)}: ${error.message}`;
  }
}

function isJson(line) {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

const readLines = (file) =>
  text(file)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, n) => {
      if (!isJson(line)) throw new Error(`${basename(file)} line ${n + 1} is not JSON: ${short(line)}`);
      return JSON.parse(line);
    });
