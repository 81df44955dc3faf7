/** Which files of a workspace a check uses, and which it may change: its outputs. */
import { isMakefile } from './makefile.ts';
import { isInstalled, isSettingsFile, isSourceCode, isTestFile } from './test-files.ts';

/** Folders for what builds and tests leave behind. */
const outputFolder =
  /(?:^|\/)(?:dist|build|out|output|target|bin\/(?:Debug|Release)|obj|coverage|htmlcov|cover|\.nyc_output|reports?|test-results|playwright-report|te?mp|logs?|\.factory|__pycache__|__snapshots__|snapshots|\.\w[\w-]*[_-]cache|\.cache|\.tox|\.nox|\.venv|venv|\.next|\.nuxt|\.turbo|\.gradle|\.vite|\.eggs|[^/]+\.egg-info|\.git)\//i;
const outputName =
  /(?:^|\/)(?:\.coverage(?:\.[^/]*)?|lcov\.info|coverage\.(?:xml|json|out|txt)|junit[^/]*\.xml|\.eslintcache|npm-debug\.log[^/]*)$|\.(?:snap|snap\.new|ambr|approved\.\w+|received\.\w+|py[co]|tsbuildinfo|o|obj|a|so|dylib|dll|class|d|log|tmp|pid|db|sqlite3?|profraw|gcda|gcno)$/i;

/** Whether a check may change this file: builds, tests and caches write such files. */
export const isOutput = (path: string): boolean =>
  outputFolder.test(path) || outputName.test(path) || isInstalled(path) || isLockFile(path);

export const isOutputFolder = (path: string): boolean =>
  outputFolder.test(`${path}/`) || isInstalled(`${path}/`);

/** Records of the resolved dependencies. */
export const isLockFile = (path: string): boolean =>
  /(?:^|\/)(?:[^/]+[.-]lock(?:\.(?:json|ya?ml|hcl))?|[^/]+\.lockb?|npm-shrinkwrap\.json|go\.sum|Package\.resolved|gradle\.lockfile|[^/]*shrinkwrap\.yaml)$/i.test(
    path,
  );

/** Whether a check uses this file whatever its commands are: a test, or settings of a runner. */
export const isOfChecks = (path: string): boolean =>
  !isOutput(path) && (isTestFile(path) || isSettingsFile(path) || isMakefile(path));

/** Whether a check must leave this file unchanged if an agent wrote it: sources and what lies next to them, not the data
 *  in other folders. `hasCode` says whether a folder has sources. */
export const isSource = (
  path: string,
  isExecutable: boolean,
  hasCode: (folder: string) => boolean,
): boolean => {
  if (isOutput(path)) return false;
  if (isSourceCode(path) || isExecutable || isOfChecks(path)) return true;
  const folder = path.split('/').slice(0, -1).join('/');
  return folder !== '' && hasCode(folder);
};
