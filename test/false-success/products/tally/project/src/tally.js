import { existsSync, readFileSync } from 'node:fs';
import { readFlags } from './flags.js';
import { readExpenses } from './read.js';

/** Totals in cents by category or month. */
function totalsOf(expenses, by) {
  const totals = new Map();
  for (const { date, category, cents } of expenses) {
    const key = by === 'month' ? date.slice(0, 7) : category;
    totals.set(key, (totals.get(key) ?? 0) + cents);
  }
  return totals;
}

const byName = ([a], [b]) => (a < b ? -1 : 1);
const byTotal = (a, b) => b[1] - a[1] || byName(a, b);

/** The rows that are printed, in order. */
export function rowsOf(expenses, { by, min, top }) {
  const rows = [...totalsOf(expenses, by)].filter(([, cents]) => cents >= min);
  rows.sort(by === 'month' ? byName : byTotal);
  return rows.slice(0, top);
}

function print(rows, json) {
  if (json) {
    const object = rows.map(([key, cents]) => `${JSON.stringify(key)}:${cents / 100}`).join(',');
    return process.stdout.write(`{${object}}\n`);
  }
  process.stdout.write(rows.map(([key, cents]) => `${key}: ${(cents / 100).toFixed(2)}\n`).join(''));
}

export function main(args) {
  const { problem, files, ...flags } = readFlags(args);
  if (problem) {
    console.error(`tally: ${problem}`);
    return 2;
  }
  const missing = files.filter((file) => !existsSync(file));
  for (const file of missing) console.error(`tally: ${file}: no such file`);
  if (missing.length > 0) return 2;
  const sources = files.length > 0 ? files : ['-'];
  const read = sources.map((file) => readExpenses(file, readFileSync(file === '-' ? 0 : file, 'utf8')));
  const wrong = read.flatMap((one) => one.wrong);
  for (const place of wrong) console.error(`${place}: cannot be read`);
  print(
    rowsOf(
      read.flatMap((one) => one.expenses),
      flags,
    ),
    flags.json,
  );
  return wrong.length > 0 ? 1 : 0;
}
