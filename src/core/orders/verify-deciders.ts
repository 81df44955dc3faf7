/** Which files of a project decide by which command it is verified. */
import { posix } from 'node:path';
import * as z from 'zod';
import { once } from '../once.ts';
import { verifyScript } from './work-order.ts';

/** What a file can be to the choice of that command. */
export type VerifyPart =
  | 'script'
  | 'package'
  | 'node_test'
  | 'python_test'
  | 'pytest_file'
  | 'go_module'
  | 'go_test'
  | 'cargo';

type VerifyRule = {
  /** The part that the rule needs, then one that changes its command. */
  readonly parts: readonly [VerifyPart, ...VerifyPart[]];
  /** The program that the rule needs. */
  readonly program?: string;
};

/** The rules for the command, in order of precedence. If none applies, files are only parsed. */
export const verifyRules: readonly VerifyRule[] = [
  { parts: ['script'] },
  { parts: ['package'], program: 'npm' },
  { parts: ['node_test'] },
  // Pytest finds only two of the name patterns, and fails if it finds no test.
  { parts: ['python_test', 'pytest_file'], program: 'python3' },
  { parts: ['go_module', 'go_test'], program: 'go' },
  { parts: ['cargo'], program: 'cargo' },
];

/** How a project is verified. */
export type VerifyFacts = {
  /** The parts that it has; `package` only if its test script counts. Those of rules after the one that applies may be
   *  missing: they decide nothing. */
  readonly parts: ReadonlySet<VerifyPart>;
  /** The first part of the rule that applies; undefined if none does. */
  readonly applies: VerifyPart | undefined;
};

const rows: readonly (readonly [VerifyPart, (path: string) => boolean])[] = [
  ['script', (path) => path === verifyScript],
  ['package', (path) => path === 'package.json'],
  ['node_test', isNodeTest],
  ['python_test', (path) => /^(test_.*|.*_test|tests?)\.py$/.test(posix.basename(path))],
  ['pytest_file', (path) => /^(test_.*|.*_test)\.py$/.test(posix.basename(path))],
  ['go_module', (path) => path === 'go.mod'],
  ['go_test', (path) => path.endsWith('_test.go')],
  ['cargo', (path) => path === 'Cargo.toml'],
];

/** The name patterns that `node --test` finds by default. */
function isNodeTest(path: string): boolean {
  if (!/\.[cm]?js$/.test(path)) return false;
  return /(^|\/)test\//.test(path) || /(^test|^test-.+|.+[.\-_]test)\.[cm]?js$/.test(posix.basename(path));
}

/** What a file of this path is to the choice of the command; empty for most. */
export const verifyPartsOf = (path: string): readonly VerifyPart[] =>
  rows.flatMap(([part, is]) => (is(path) ? [part] : []));

/** Whether a file of this path can change how a project is verified that is verified as `facts` say: not one of a kind
 *  that is there already, and not one whose rule comes after the one that applies. */
export function decidesVerification({ parts, applies }: VerifyFacts): (path: string) => boolean {
  const last = applies === undefined ? verifyRules.length : verifyRules.findIndex(isRuleOf(applies));
  const open = new Set(
    verifyRules
      .slice(0, last + 1)
      .flatMap((rule) => rule.parts)
      // The test script of a package file may come and go with its content; the verify script runs whatever it holds.
      .filter((part) => !parts.has(part) || part === 'package'),
  );
  if (parts.has('script')) open.clear();
  return (path) => verifyPartsOf(path).some((part) => open.has(part));
}

const isRuleOf =
  (part: VerifyPart) =>
  ({ parts }: VerifyRule): boolean =>
    parts[0] === part;

/** How a project with these parts is verified, if all programs are installed. */
export const verifyFactsOf = (parts: ReadonlySet<VerifyPart>): VerifyFacts => ({
  parts,
  applies: verifyRules.find((rule) => parts.has(rule.parts[0]))?.parts[0],
});

const skippedFolders = new Set(['node_modules', '__pycache__', 'venv', 'vendor']);

/** Whether tests are looked for in a folder: not in hidden ones and those of installed packages. */
export const isSearchedForTests = (folder: string): boolean =>
  !folder.startsWith('.') && !skippedFolders.has(folder);

/** How a project with these files is verified, if all programs are installed. `packageText`: of its package.json. */
export function verifyFactsIn(files: readonly string[], packageText: string): VerifyFacts {
  const searched = files.filter((path) => path.split('/').slice(0, -1).every(isSearchedForTests));
  const parts = new Set(searched.flatMap(verifyPartsOf));
  if (!hasTestScript(packageText)) parts.delete('package');
  return verifyFactsOf(parts);
}

const scriptsSchema = once(() => z.object({ scripts: z.object({ test: z.string() }) }));

/** Whether the text of a package.json has a test script. The one that `npm init` writes only fails; it does not count. */
export function hasTestScript(text: string): boolean {
  try {
    const script = scriptsSchema().parse(JSON.parse(text)).scripts.test;
    return script.trim() !== '' && !script.includes('no test specified');
  } catch {
    return false;
  }
}
