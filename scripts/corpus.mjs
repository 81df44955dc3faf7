#!/usr/bin/env node
/** Counts what this build understands of pipeline files, such as those of other runners: `npm run corpus -- DIR [--json FILE]`.
 *  docs/compatibility.md says what the numbers mean. Files are read, checked and simulated by the built command line; nothing
 *  in them is run. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';

const cli = resolve(import.meta.dirname, '../dist/cli.js');
const run = promisify(execFile);
const usage = 'usage: npm run corpus -- DIR [--json FILE]';

/** Files of one call of `factory validate`. */
const perCall = 100;
/** Files that are named below a reason. */
const mostNamed = 3;

function fail(problem) {
  console.error(`${problem}\n${usage}`);
  process.exit(2);
}

function readFlags() {
  try {
    const { values, positionals } = parseArgs({
      options: { json: { type: 'string' } },
      allowPositionals: true,
    });
    return { json: values.json, dirs: positionals };
  } catch (error) {
    return fail(error.message);
  }
}

function filesBelow(dir) {
  if (!existsSync(dir) || !statSync(dir).isDirectory()) fail(`there is no directory ${dir}`);
  const found = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:dot|gv)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return found.length === 0 ? fail(`there is no .dot or .gv file in ${dir}`) : found;
}

/** What a command prints as JSON, whatever its exit code. */
async function answerOf(...args) {
  try {
    return JSON.parse((await run(process.execPath, [cli, ...args], { maxBuffer: 2 ** 30 })).stdout);
  } catch (error) {
    if (typeof error.stdout === 'string' && error.stdout.startsWith('{')) return JSON.parse(error.stdout);
    throw new Error(`factory ${args.slice(0, 2).join(' ')} failed: ${error.stderr ?? error.message}`);
  }
}

async function validated(files) {
  const all = [];
  for (let at = 0; at < files.length; at += perCall)
    all.push(...(await answerOf('validate', '--json', ...files.slice(at, at + perCall))).files);
  return all;
}

/** Without the names of one file, so that the same reason in two files is one. */
const general = (message) =>
  message
    .replace(/"[^"]*"/g, '"…"')
    .replace(/(?:\.{0,2}\/)?[\w.@-]*\/[\w./@-]+/g, 'PATH')
    .replace(/\bfor outcome \S+/, 'for outcome …');

/** The kinds of nodes have names that say more than `"…"`. */
const reasonOf = ({ code, message }) =>
  code === 'unknown-type' || code === 'unknown-shape' || code === 'no-effect' || code === 'no-handler'
    ? `${code}: ${message.replace(/; the nearest.*| \(on .*\)$/, '')}`
    : `${code}: ${general(message)}`;

/** Why the simulation of a file ends elsewhere than at an exit; undefined for one that reaches an exit. Every node succeeds, with no
 *  word of its own. */
async function endOf(file) {
  const { end, steps } = await answerOf('simulate', '--json', file);
  if (end === null) return `still running after ${steps.length} executions`;
  if (end.exit_node !== null) return undefined;
  return general(end.reason.replace(/\bnode \S+/g, 'node "…"'));
}

function group(reasons) {
  const groups = new Map();
  for (const { file, reason } of reasons) groups.set(reason, new Set([...(groups.get(reason) ?? []), file]));
  return [...groups]
    .map(([reason, files]) => ({ reason, files: [...files] }))
    .sort((a, b) => b.files.length - a.files.length);
}

function print(title, groups) {
  if (groups.length === 0) return;
  console.log(`\n${title}:`);
  for (const { reason, files } of groups) {
    console.log(`${String(files.length).padStart(5)}  ${reason}`);
    const more = files.length > mostNamed ? ` and ${files.length - mostNamed} more` : '';
    console.log(`         ${files.slice(0, mostNamed).join(', ')}${more}`);
  }
}

const { json, dirs } = readFlags();
const [dir, ...others] = dirs;
if (dir === undefined || others.length > 0) fail('name one directory with pipeline files');
if (!existsSync(cli)) fail('dist/ is missing: npm run build makes it');

const results = [];
for (const { file, ok, nodes, diagnostics } of await validated(filesBelow(resolve(dir)))) {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(reasonOf);
  const idle = diagnostics.filter(({ code }) => code === 'no-effect').map(reasonOf);
  const end = ok ? await endOf(file) : undefined;
  const exits = ok && end === undefined;
  results.push({
    file: relative(resolve(dir), file),
    parsed: nodes !== undefined,
    ok,
    exits,
    errors,
    idle,
    end,
  });
}

const valid = results.filter(({ ok }) => ok);
const all = (files, reasons) =>
  group(files.flatMap((one) => reasons(one).map((reason) => ({ file: one.file, reason }))));
const summary = {
  files: results.length,
  parsed: results.filter(({ parsed }) => parsed).length,
  valid: valid.length,
  without_no_effect: valid.filter(({ idle }) => idle.length === 0).length,
  simulated_to_an_exit: valid.filter(({ exits }) => exits).length,
};
const reasons = {
  not_valid: all(results, ({ errors }) => errors),
  no_effect: all(valid, ({ idle }) => idle),
  no_exit: all(valid, ({ end }) => (end === undefined ? [] : [end])),
};
for (const [name, count] of Object.entries(summary))
  console.log(`${name.replaceAll('_', ' ').padEnd(22)}${String(count).padStart(6)}`);
print('Not valid', reasons.not_valid);
print('Valid, with attributes that have no effect', reasons.no_effect);
print('Valid, and no exit is reached when every node succeeds', reasons.no_exit);
if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ...summary, reasons, results }, null, 2)}\n`);
