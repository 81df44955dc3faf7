/** What is known of programs that speak the Agent Client Protocol: what they read of the user's home, their keys, their modes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentPlace } from '../../core/contracts/agent.ts';
import type { Environment } from '../../core/contracts/process.ts';
import { own } from '../../core/json.ts';
import type { FailureClass, Park } from '../../core/outcome.ts';
import { codexFailure } from '../codex-events.ts';
import { codexHome, codexNames } from '../codex-settings.ts';
import { homeWith } from '../program/home.ts';
import { userHome } from '../program/settings.ts';

export type AcpPreset = {
  /** Arguments with which it speaks the protocol. */
  readonly args: readonly string[];
  /** Variables with its keys, and with addresses of its servers. */
  readonly keys: readonly string[];
  readonly servers: readonly string[];
  /** What it is shown of the user's home in a sandbox. */
  home(env: Environment): readonly AgentPlace[];
  /** Modes of a session in which it leaves it to our sandbox to confine it: the first that it has. */
  readonly modesInSandbox?: readonly string[];
  /** Its way to log in that takes the key from its variables, where it keeps no login that this would replace. */
  keyMethod?(env: Environment): string | undefined;
  /** Whose failure it is, by its own sentences. */
  failureOf?(
    message: string,
    now: Date,
  ): { readonly class: FailureClass; readonly retryAfterMs?: number; readonly park?: Park };
  /** Why it is not asked without a model. */
  readonly needsModel?: string;
  /** It reports the tokens of its last model call, not of all. */
  readonly partOfUsage?: true;
};

const presets: Readonly<Record<string, AcpPreset>> = {
  gemini: {
    args: ['--acp'],
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    servers: ['GOOGLE_GEMINI_BASE_URL'],
    home: (env) =>
      homeWith(join(userHome(env), '.gemini'), {
        login: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json'],
        settings:
          /^(?:settings\.json|trustedFolders\.json|\.env|GEMINI\.md|installation_id|commands|extensions|policies|agents|skills)$/,
        shared: [],
      }),
  },
  opencode: {
    args: ['acp'],
    keys: [],
    servers: [],
    home: (env) => [
      // It ends where it cannot write its `.gitignore` next to the settings.
      ...homeWith(join(userHome(env), '.config', 'opencode'), { login: [], settings: /^/, shared: [] }),
      { path: join(userHome(env), '.local', 'share', 'opencode', 'auth.json'), write: true },
    ],
    needsModel: "it would take a third party's free model",
    partOfUsage: true,
  },
  'codex-acp': {
    args: [],
    keys: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    servers: ['OPENAI_BASE_URL'],
    home: (env) => {
      const home = codexHome(env);
      return home === undefined ? [] : homeWith(home, codexNames);
    },
    // Its own sandbox cannot be made inside ours. Of the two programs of this name each has its word for it.
    modesInSandbox: ['agent-full-access', 'full-access'],
    keyMethod: (env) => (existsSync(join(codexHome(env) ?? '', 'auth.json')) ? undefined : 'api-key'),
    failureOf: codexFailure,
  },
};

/** The preset of a program, by its name without folders. */
export const presetOf = (program: string): AcpPreset | undefined =>
  own(presets, program.replace(/^.*\//, '').replace(/\.[cm]?js$/, ''));
