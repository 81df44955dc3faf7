/** Finds the cases below a folder and detects their format by content. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { batteryCase } from './battery/case.mjs';
import { expand } from './expand.mjs';
import { runScenario } from './orders/e2e.mjs';
import { checkProposalCase } from './orders/proposals.mjs';
import { checkExchange } from './orders/transport.mjs';
import { checkValidation } from './orders/validation.mjs';

/** Folders with the inputs of cases. */
const notCases = new Set(['fixtures', 'node_modules', '.git']);

/** Every case, sorted by id: `{ id, title?, tags, note?, run(setting) }`, where `run` resolves to `{ problems }` or `{
 *  skipped }`. */
export function discover(folder) {
  const found = [];
  if (statSync(folder).isFile()) found.push(...casesIn(basename(folder), folder));
  else walk(folder, folder, found);
  return found.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

function walk(top, folder, found) {
  if (existsSync(join(folder, 'case.json'))) {
    found.push(batteryCase(relative(top, folder) || basename(folder), folder));
    return;
  }
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !notCases.has(entry.name)) walk(top, path, found);
    else if (entry.isFile() && entry.name.endsWith('.json'))
      found.push(...casesIn(relative(top, path) || entry.name, path));
  }
}

function casesIn(id, path) {
  let content;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return [{ id, tags: [], run: async () => ({ problems: [`the file is not JSON: ${error.message}`] }) }];
  }
  if (Array.isArray(content?.steps)) return [made(id, content, runScenario)];
  const cases = Array.isArray(content) ? content : content?.cases;
  if (!Array.isArray(cases)) return [skip(id, 'the file has neither cases nor steps')];
  return cases.map((one, at) => {
    const name = `${id}: ${one?.name ?? `case ${at + 1}`}`;
    const run = runnerOf(one ?? {});
    return run === undefined ? skip(name, 'its format is not known') : made(name, one, run);
  });
}

function runnerOf(one) {
  if ('proposal' in one) return checkProposalCase;
  if ('http' in one) return checkExchange;
  if ('manifest' in one) return checkValidation;
  return undefined;
}

function made(id, one, run) {
  const { tags = [], note } = one;
  return { id, tags, note, run: (setting) => run(expand(one), setting) };
}

const skip = (id, skipped) => ({ id, tags: [], run: async () => ({ skipped }) });
