/** The words that `claude` is started with, and what surrounds it. */
import { join, resolve } from 'node:path';
import type { JsonObject } from '../../model/json.ts';
import type { AgentProgram } from '../agent.ts';
import { homeBut } from '../program/home.ts';
import type { ClaudeSettings } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything after the program's name; the prompt is not among it, it goes to standard input. */
export function claudeArgv(settings: ClaudeSettings, schema: JsonObject): string[] {
  const pair = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  return [
    '-p',
    '--output-format',
    'stream-json',
    '--verbose',
    '--json-schema',
    JSON.stringify(schema),
    '--permission-mode',
    settings.permissionMode,
    ...pair('--allowedTools', settings.allowedTools),
    ...pair('--disallowedTools', settings.disallowedTools),
    ...pair('--model', settings.model),
    ...pair('--effort', settings.effort),
    ...pair('--max-turns', settings.maxTurns === undefined ? undefined : String(settings.maxTurns)),
    ...settings.addDirs.flatMap((dir) => ['--add-dir', dir]),
    ...pair('--settings', settings.settings),
    ...settings.args,
  ];
}

/** In its home: which programs it runs, and what it is instructed in every session. */
const ownSettings = [
  ...['settings.json', 'settings.local.json', 'CLAUDE.md'],
  ...['agents', 'commands', 'hooks', 'output-styles', 'rules', 'skills'],
];

/** Its configuration and login, and variables that keep it from calling home, from replacing itself, and from taking
 *  itself for a part of another session of its kind. */
export function claudePlace(env: Environment): Required<Pick<AgentProgram, 'env' | 'home'>> {
  const said = env['CLAUDE_CONFIG_DIR']?.trim() ?? '';
  const user = env['HOME']?.trim() ?? '';
  const home =
    said !== ''
      ? homeBut(resolve(said), ownSettings)
      : user === ''
        ? []
        : [...homeBut(join(user, '.claude'), ownSettings), { path: join(user, '.claude.json'), write: true }];
  return {
    home,
    env: {
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDECODE: '',
      CLAUDE_CODE_ENTRYPOINT: '',
      // It may be relative, and the program starts elsewhere.
      ...(said === '' ? {} : { CLAUDE_CONFIG_DIR: resolve(said) }),
    },
  };
}
