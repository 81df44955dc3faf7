/** The command lines that do what the page does: the API starts them, the page and its answers show them. */
import { flagWords } from '../app/typed-command.ts';
import type { ForkBody, MoveBody, RemoveBody, ReplayBody, ResumeBody } from './contract.ts';

export const resumeArguments = (run: string, { limits, ...flags }: ResumeBody): readonly string[] => [
  'resume',
  run,
  ...flagWords({ ...flags, ...limits }),
];

export const forkArguments = (
  run: string,
  { at, before, note, name, set = {} }: ForkBody,
): readonly string[] => [
  'fork',
  run,
  ...flagWords({ at, before, note, name }),
  ...Object.entries(set).map(([name, text]) => `--set=${name}=${text}`),
];

export const replayArguments = (run: string, { run_tools }: ReplayBody): readonly string[] => [
  'replay',
  run,
  ...flagWords({ run_tools }),
];

export const removeArguments = (run: string, { force }: RemoveBody): readonly string[] => [
  'rm',
  run,
  ...flagWords({ force }),
];

export const moveArguments = (run: string, { to, ...flags }: MoveBody): readonly string[] => [
  ...['queue', 'move', run],
  ...flagWords({ ...(to === undefined ? {} : { [to]: true }), ...flags }),
];

export const holdArguments = (run: string): readonly string[] => ['queue', 'hold', run];

export const dropArguments = (run: string): readonly string[] => ['queue', 'drop', run];
