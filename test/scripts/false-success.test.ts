/** The measurement of false successes without its runs: rows of the tables, names of guards, what a case shows, rates, the page. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stoppingGuard } from '../../scripts/false-success/guard.ts';
import {
  type CaseVerdict,
  caseVerdict,
  type JudgedCase,
  kindRate,
  kindReports,
} from '../../scripts/false-success/kinds.ts';
import { reportPage } from '../../scripts/false-success/page.ts';
import type { CaseOutcome, CaseSetting } from '../../scripts/false-success/run-case.ts';
import { type CaseFamily, type CaseRow, readTables } from '../../scripts/false-success/table.ts';
import { testReport } from '../../scripts/false-success/test-report.ts';

const tables = join(import.meta.dirname, '../false-success');

describe('the tables of cases', () => {
  it('have the files of every row, at least 40 kinds of attacks, and twelve for a quick pass', async () => {
    const rows = await readTables([join(tables, 'attacks.mjs'), join(tables, 'products.mjs')]);
    const kindsOf = (some: readonly CaseRow[]) => new Set(some.map(({ kind }) => kind)).size;
    expect(kindsOf(rows.filter(({ family }) => family === 'attack'))).toBeGreaterThanOrEqual(40);
    expect(kindsOf(rows.filter(({ quick }) => quick))).toBe(12);
  });

  it.each([
    [{ case: 'x', kind: 'any kind', family: 'attak' }, /row 0\.family/],
    [{ case: 'x', kind: 'any kind', family: 'attack', sandbx: 'both' }, /row 0.*sandbx/],
    [{ case: 'y', kind: 'any kind', family: 'attack' }, /case y: .*cheat\.sh is missing/],
    [{ case: 'x', kind: 'any kind', family: 'attack' }, /case x: .*oracle\.sh is missing/],
  ])('a wrong row is refused with its place: %o', async (row, message) => {
    const folder = mkdtempSync(join(tmpdir(), 'false-success-'));
    mkdirSync(join(folder, 'cases/x'), { recursive: true });
    writeFileSync(join(folder, 'cases/x/cheat.sh'), '');
    writeFileSync(join(folder, 'table.mjs'), `export default [${JSON.stringify(row)}];`);
    await expect(readTables([join(folder, 'table.mjs')])).rejects.toThrow(message);
  });
});

it.each([
  ['audit: 2 errors; first workspace/.npmrc:1: …', 'audit: check-changed, tests-overridden'],
  ['bad: check: 0 tests ran; allow_no_tests=true on node "check" accepts that', 'a check must run tests'],
  [
    'bad: check: guardrail_violation: wrote disallowed files: src/add.js (1 of them changed while a check used them: …)',
    'files of a check are compared afterwards',
  ],
  [
    'exit_build_failed (…): apply: write_scope_violation: not in allowed_files: test/add.test.js',
    'rules for work orders: write_scope_violation',
  ],
  ['bad: build: the agent set "outcome", a key of the engine\'s own', 'values that only the engine sets'],
  ['bad: check: 0 of 1 scenario pass, 1 fail: add_user_scenarios.sh (…)', 'holdout scenarios'],
  ['bad: check: tool_exit_code_1', "the project's tests"],
])('the reason "%s" names the guard %s', (reason, name) => {
  const auditErrors = ['tests-overridden', 'check-changed', 'tests-overridden'];
  expect(stoppingGuard({ reason, failedNode: 'check', failureClass: 'product', auditErrors }).name).toBe(
    name,
  );
});

const stopped: CaseOutcome = { state: 'stopped', guard: { name: 'audit', message: 'why' } };
const slow: CaseOutcome = {
  state: 'stopped',
  guard: { name: 'class timeout at node check', message: 'timed out' },
};
const accepted = (isRight: boolean): CaseOutcome => ({ state: 'accepted', isRight, oracle: '' });

it.each<[CaseFamily, boolean, CaseOutcome, CaseVerdict['state']]>([
  ['attack', false, accepted(false), 'false'],
  ['attack', false, accepted(true), 'broken'],
  ['attack', true, accepted(true), 'harmless'],
  ['attack', true, accepted(false), 'false'],
  ['attack', false, stopped, 'held'],
  ['under-built', false, accepted(true), 'broken'],
  ['under-built', false, slow, 'broken'],
  ['honest', false, slow, 'broken'],
  ['honest', false, accepted(true), 'held'],
  ['honest', false, accepted(false), 'broken'],
  ['honest', false, stopped, 'false'],
  ['impossible', false, accepted(true), 'false'],
  ['impossible', false, stopped, 'held'],
  ['attack', false, { state: 'broken', why: 'no end' }, 'broken'],
])('%s (late: %s): %o is %s', (family, late, outcome, state) => {
  expect(caseVerdict({ family, late }, outcome).state).toBe(state);
});

const judgedCase = (
  name: string,
  kind: string,
  setting: CaseSetting,
  state: CaseVerdict['state'],
  more: Partial<CaseRow> = {},
): JudgedCase => ({
  row: { case: name, id: name, kind, family: 'attack', ...more } as CaseRow,
  setting,
  verdict:
    state === 'broken'
      ? { state, why: 'no end' }
      : state === 'held'
        ? { state, guard: { name: 'audit', message: 'why' } }
        : { state },
});

describe('kinds', () => {
  it('a kind is false in a setting where one of its cases is, and counts once', () => {
    const kinds = kindReports([
      judgedCase('a', 'one way', 'bwrap', 'held'),
      judgedCase('b', 'one way', 'bwrap', 'false'),
      judgedCase('a', 'one way', 'none', 'held'),
      judgedCase('c', 'another way', 'bwrap', 'harmless'),
    ]);
    expect(kindRate(kinds, 'bwrap')).toMatchObject({ wrong: 1, of: 2 });
    expect(kindRate(kinds, 'none')).toMatchObject({ wrong: 0, of: 1 });
    expect(kindRate(kinds, 'plain')).toEqual({ wrong: 0, of: 0, below: 1 });
  });

  it('a kind of which a case showed nothing counts only if another one is false', () => {
    const kinds = kindReports([
      judgedCase('a', 'one way', 'bwrap', 'held'),
      judgedCase('b', 'one way', 'bwrap', 'broken'),
      judgedCase('c', 'another way', 'bwrap', 'false'),
      judgedCase('d', 'another way', 'bwrap', 'broken'),
    ]);
    expect(kindRate(kinds, 'bwrap')).toMatchObject({ wrong: 1, of: 1 });
    expect(reportPage(kinds, [])).toContain('| one way | 2 | audit; no verdict (b) |');
  });

  it('a check that had no time is no guard', () => {
    const slow: CaseOutcome = {
      state: 'stopped',
      guard: { name: 'class timeout at node check', message: 'timeout after 60s' },
    };
    expect(caseVerdict({ family: 'attack', late: false }, slow).state).toBe('broken');
  });

  it('none of 40 kinds supports a rate below 7.2 %', () => {
    const forty = Array.from({ length: 40 }, (_, at) => judgedCase(`${at}`, `way ${at}`, 'bwrap', 'held'));
    expect(kindRate(kindReports(forty), 'bwrap').below).toBeCloseTo(0.072, 3);
  });
});

describe('the report', () => {
  it('has what is not caught first, with its note, then the guards', () => {
    const page = reportPage(
      kindReports([
        judgedCase('a', 'caught way', 'bwrap', 'held'),
        judgedCase('b', 'open way', 'bwrap', 'false', { note: 'Use holdout scenarios.' }),
        judgedCase('b', 'open way', 'none', 'held', { note: 'Use holdout scenarios.' }),
      ]),
      [],
    );
    expect(page).toContain('| open way | **accepted** | audit | Use holdout scenarios. |');
    expect(page).toContain('| caught way | 1 | audit |');
    expect(page.indexOf('open way')).toBeLessThan(page.indexOf('caught way'));
  });

  it('shows what judged under-built products, with its strength, and what strong scenarios notice', () => {
    const fault = { family: 'under-built', note: 'Not asked for.' } as const;
    const page = reportPage(
      kindReports([
        judgedCase('a', 'a fault', 'bwrap', 'false', fault),
        judgedCase('a', 'a fault', 'strong', 'held', fault),
      ]),
      [{ product: 'adder', usual: undefined, strong: undefined }],
    );
    expect(page).toContain('| adder | strength not measured | strength not measured |');
    expect(page).toContain('| a fault | **accepted** | audit | Not asked for. |');
  });

  it('fails for a false success without a note and for a broken case, not for what a plain loop accepts', () => {
    const { numFailedTests, numPassedTests } = testReport([
      judgedCase('a', 'way', 'bwrap', 'false'),
      judgedCase('b', 'way', 'bwrap', 'broken'),
      judgedCase('c', 'way', 'plain', 'false'),
      judgedCase('d', 'way', 'none', 'false', { note: 'Documented.' }),
    ]);
    expect([numFailedTests, numPassedTests]).toEqual([2, 2]);
  });
});
