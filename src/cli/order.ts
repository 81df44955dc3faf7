/** Options of `factory order run` and `factory order run-all`. */
import { InvalidArgumentError } from 'commander';
import {
  boundOptions,
  defaultModel,
  json,
  logOptions,
  notEmpty,
  option,
  runsdir,
  settingOption,
} from './options.ts';

const whole = (word: string): number => {
  const value = Number(word);
  if (!/^[+-]?\d+$/.test(word)) throw new InvalidArgumentError('It must be a whole number.');
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('The number is too large.');
  return value;
};
const number = (word: string): number => {
  if (word.trim() === '' || !Number.isFinite(Number(word)))
    throw new InvalidArgumentError('It must be a number.');
  return Number(word);
};

const temperature = (word: string): number => {
  const value = number(word);
  if (value < 0 || value > 2) throw new InvalidArgumentError('It must be a number from 0 to 2.');
  return value;
};

export const orderOptions = () => [
  ...boundOptions(),
  option('--repo <dir>', 'repository with a clean working tree', notEmpty),
  option(
    '--artifacts-dir <dir>',
    'directory for the artifacts (default: ARTIFACTS_DIR, else ./artifacts)',
    notEmpty,
  ),
  option('--out <dir>', 'also copy the artifacts to this directory outside the repository', notEmpty),
  runsdir(),
  option('--max-attempts <n>', 'attempts per work order', whole).default(5),
  option(
    '--llm-model <name>',
    `model to use (default: ${defaultModel}, of another provider its first)`,
    notEmpty,
  ),
  option('--model <name>', 'same as --llm-model', notEmpty),
  option('--llm-temperature <n>', 'sampling temperature (default: not sent)', temperature),
  option('--timeout-seconds <n>', 'time limit of each command and model call', number).default(600),
  option('--commit-hash <revision>', 'start point of a new branch (default: HEAD)'),
  option('--branch <name>', 'branch for the commits (default: factory/…)'),
  option('--reuse-branch', 'require that the branch exists'),
  option('--create-branch', 'require that the branch does not exist'),
  option('--no-push', 'do not push to the first remote'),
  option('--allow-verify-exempt', 'honor verify_exempt in any work order'),
  option('--python <path>', 'ignored, for compatibility'),
  settingOption('agent'),
  settingOption('agent_script'),
  settingOption('provider'),
  json(),
  ...logOptions('print only the result and errors'),
];
