/** Files that are never mutated: no scenario can see a change of tests, of what decides how tests run, or of what a program
 *  will write again. */
import { isInstalled, isSettingsFile, isTestFile } from '../core/policy/test-files.ts';

/** What tests are given, settings of linters, the scripts that check a product. */
const ofChecks: readonly RegExp[] = [
  /(?:^|\/)(?:__mocks__|__fixtures__|fixtures|testdata|benches|benchmarks?|cypress)\//,
  /(?:^|\/)[^/]*[._](?:bench|stories|cy)\.[cm]?[jt]sx?$/,
  /(?:^|\/)\.?(?:eslint|prettier|biome|stylelint|commitlint|stryker|lint-staged)(?:rc)?(?:\.[\w-]+)*\.[cm]?[jt]s$/,
  /(?:^|\/)(?:tests?|verify|check|lint|ci|coverage)(?:[-_.][\w-]+)?\.(?:ba)?sh$/,
  /\.bats$/,
];

/** Folders and names of what programs write. */
const generated: readonly RegExp[] = [
  // Below `src/` such a folder is source.
  /^(?:(?!src\/)[^/]+\/)*(?:dist|build|out|target)\//,
  /(?:^|\/)(?:third_party|coverage|generated|gen|__pycache__|\.venv|venv|\.next|\.nuxt|\.yarn)\//,
  /\.min\.[cm]?js$/,
  /\.d\.[cm]?ts$/,
  /(?:^|\/)(?:package-lock|npm-shrinkwrap)\.json$|\.lock$|-lock\.ya?ml$|(?:^|\/)go\.sum$/,
  /\.(?:pb|pb\.gw|generated|gen|g)\.\w+$/,
  /_(?:generated|gen)\.(?:go|rs)$|_pb2(?:_grpc)?\.py$/,
  /(?:^|\/)(?:zz_generated|mock_)[^/]*\.go$|(?:^|\/)_version\.py$/,
];

const generatedHead =
  /@generated\b|\bDO NOT EDIT\b|<auto-?generated|\b(?:auto-?)?generated\b[^\n]*\b(?:do not|don't) (?:edit|modify|change)/i;

/** By its name, by what its first lines say, or because no person writes such lines. */
export function isGeneratedFile(path: string, text = ''): boolean {
  if (isInstalled(path) || generated.some((form) => form.test(path))) return true;
  const head = text.split('\n', 20).join('\n').slice(0, 2000);
  return generatedHead.test(head) || isMinified(text);
}

function isMinified(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return text.length > 2000 && text.length / lines.length > 300;
}

/** Folders that have tests at the top of a project, and parts of the product below its source. */
const partsOfSource = /(?<=(?:^|\/)(?:src|lib|app|internal)\/(?:[^/]+\/)*)(?:features|scenarios)\//g;

/** Whether a change of the file could be seen in the product. */
export const isMutable = (path: string, text = ''): boolean =>
  !isTestFile(path.replace(partsOfSource, '')) &&
  !isSettingsFile(path) &&
  !ofChecks.some((form) => form.test(path)) &&
  !isGeneratedFile(path, text);
