/** The real agent programs, and a model server for each that speaks its API. They run if the user names them
 *  (by a variable for each) or, under `npm run test:system`, where they are on PATH. */
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type MessageReaction, startMessagesServer } from './messages-server.ts';
import { type Reaction, startModelServer } from './model-server.ts';

export type Name = 'codex' | 'claude';
/** Those that speak the Agent Client Protocol. */
export type AcpName = 'gemini' | 'opencode' | 'codex-acp';

const variables: Readonly<Record<Name | AcpName, string>> = {
  codex: 'FACTORY_REAL_CODEX',
  claude: 'FACTORY_TEST_CLAUDE',
  gemini: 'FACTORY_TEST_GEMINI',
  opencode: 'FACTORY_TEST_OPENCODE',
  'codex-acp': 'FACTORY_TEST_CODEX_ACP',
};

/** The absolute path of the program; or why its tests are skipped, for the list of tests. */
export function realProgram(
  name: Name | AcpName,
): { readonly path: string; readonly skipped: '' } | { readonly path: ''; readonly skipped: string } {
  const named = process.env[variables[name]] ?? '';
  const folders =
    process.env['FACTORY_SYSTEM_TESTS'] === '1' ? (process.env['PATH'] ?? '').split(delimiter) : [];
  for (const path of named === '' ? folders.map((folder) => join(folder, name)) : [named]) {
    try {
      accessSync(path, constants.X_OK);
      realpathSync(path);
      return { path, skipped: '' };
    } catch {
      // Not here.
    }
  }
  const why =
    named === '' ? `not on PATH; ${variables[name]} names it` : `${variables[name]}=${named} cannot be run`;
  return { path: '', skipped: ` (skipped: ${why})` };
}

type Tokens = { readonly input: number; readonly output: number; readonly cached?: number };

export type Counted = Required<Tokens>;

/** The model's reaction to one request, for every API. */
export type Step = { readonly tokens?: Tokens } & (
  | { readonly run: string }
  | { readonly write: { readonly path: string; readonly text: string } }
  | { readonly answer: object }
  | { readonly prose: string }
  | { readonly status: number; readonly message?: string }
  | { readonly cut: true }
  | { readonly hang: true }
);

export const success = {
  outcome: 'success',
  preferred_next_label: '',
  suggested_next_ids: [],
  context_updates: {},
  verification_plan: null,
  notes: 'written',
  failure_reason: '',
};

export interface Desk extends AsyncDisposable {
  /** Environment variables that the program needs to reach the server; for `codex` also files below its home. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Attributes of the node. */
  readonly attributes: string;
  /** Bodies of the requests, as JSON text. */
  bodies(): readonly string[];
  /** Tokens of all answered requests. */
  counted(): Counted;
}

export const key = 'sk-mock-12345678';
const usual: Tokens = { input: 11, output: 7 };

export const stepOf = (steps: readonly Step[], n: number): Step =>
  steps[Math.min(n, steps.length - 1)] ?? { status: 500 };

/** Starts a server that takes the steps in order, and the last one again and again. */
export async function startDesk(name: Name, steps: readonly Step[]): Promise<Desk> {
  const stepAt = (n: number) => stepOf(steps, n);
  const counted = (requests: number): Counted =>
    Array.from({ length: requests }, (_, n) => stepAt(n))
      .filter((step) => 'run' in step || 'write' in step || 'answer' in step || 'prose' in step)
      .map(({ tokens = usual }) => tokens)
      .reduce<Counted>(
        (sum, { input, output, cached = 0 }) => ({
          input: sum.input + input,
          output: sum.output + output,
          cached: sum.cached + cached,
        }),
        { input: 0, output: 0, cached: 0 },
      );
  if (name === 'claude') {
    const server = await startMessagesServer(steps.map(messageOf));
    return {
      env: {
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_MAX_RETRIES: '0',
        FACTORY_CLAUDE_MODEL: 'claude-sonnet-4-5',
      },
      // As users have it; in the sandbox these are to be read only.
      files: {
        '.claude/settings.json': '{ "includeCoAuthoredBy": false }\n',
        '.claude/agents/mine.md': '---\nname: mine\ndescription: Mine\n---\nMine.\n',
      },
      attributes: 'agent=claude',
      bodies: () => server.requests.map(({ body }) => JSON.stringify(body)),
      counted: () => counted(server.requests.length),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }
  const server = await startModelServer((_, index) => reactionOf(stepAt(index)));
  return {
    env: { MOCK_KEY: key, FACTORY_MODEL: 'gpt-5.2' },
    files: { ...codexHomeFiles, '.codex/config.toml': codexConfig(server.url) },
    attributes: 'agent=codex, codex.env_keys=MOCK_KEY',
    bodies: () => server.requests.map(({ body }) => JSON.stringify(body)),
    counted: () => counted(server.requests.length),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** What a codex that has been used has in its home. */
export const codexHomeFiles = {
  '.codex/installation_id': '11111111-2222-4333-8444-555555555555',
  '.codex/version.json': '{"latest_version":"0.1.0","last_checked_at":"2020-01-01T00:00:00Z"}',
  '.codex/AGENTS.md': 'Be brief.\n',
};

/** The settings of a codex that asks this server. */
export const codexConfig = (url: string) => `model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "${url}"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`;

/** The reaction over the API of codex. */
export function reactionOf(step: Step): Reaction {
  const { input, output, cached = 0 } = step.tokens ?? usual;
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { cached_tokens: cached },
  };
  const shell = (cmd: string): Reaction => ({
    calls: [{ name: 'exec_command', arguments: { cmd, yield_time_ms: 10_000 } }],
    usage,
  });
  if ('run' in step) return shell(step.run);
  if ('write' in step) {
    const lines = step.write.text.split('\n').map((line) => `+${line}`);
    const patch = ['*** Begin Patch', `*** Add File: ${step.write.path}`, ...lines, '*** End Patch'];
    return shell(`apply_patch <<'PATCH'\n${patch.join('\n')}\nPATCH`);
  }
  if ('answer' in step) return { json: { ...success, ...step.answer }, usage };
  if ('prose' in step) return { text: step.prose, usage };
  if ('status' in step)
    return { status: step.status, body: { error: { message: step.message ?? 'the mock refuses' } } };
  return 'cut' in step ? { cutAfter: 1 } : { hang: true };
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
};

function messageOf(step: Step): MessageReaction {
  const { input, output, cached = 0 } = step.tokens ?? usual;
  const usage = { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: output };
  if ('run' in step)
    return { calls: [{ name: 'Bash', input: { command: step.run, description: 'work' } }], usage };
  if ('write' in step) {
    const { path, text } = step.write;
    return { calls: [{ name: 'Write', input: { file_path: path, content: text } }], usage };
  }
  if ('answer' in step)
    return { calls: [{ name: 'StructuredOutput', input: { ...success, ...step.answer } }], usage };
  if ('prose' in step) return { text: step.prose, usage };
  if ('status' in step) {
    const type = errorTypes[step.status] ?? 'api_error';
    return { status: step.status, type, message: step.message ?? 'the mock refuses' };
  }
  return 'cut' in step ? { cut: true } : { hang: true };
}
