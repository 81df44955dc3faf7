/** A model server for each real program that speaks the Agent Client Protocol, and what that program needs to ask it. */
import { type GeminiReaction, startGeminiServer } from './gemini-server.ts';
import { type ModelRequest, type Reaction, type SpokenApi, startModelServer } from './model-server.ts';
import {
  type AcpName,
  codexConfig,
  codexHomeFiles,
  type Desk,
  key,
  reactionOf,
  type Step,
  stepOf,
  success,
} from './real-programs.ts';

type AcpDesk = Omit<Desk, 'counted'>;

/** Starts a server that takes the steps in order, and the last one again and again. Requests without tools, for a title or the
 *  choice of a model, take none. */
export function startAcpDesk(name: AcpName, steps: readonly Step[]): Promise<AcpDesk> {
  return desks[name]((n) => stepOf(steps, n));
}

const desks: Readonly<Record<AcpName, (stepAt: (n: number) => Step) => Promise<AcpDesk>>> = {
  async gemini(stepAt) {
    const server = await startGeminiServer((n) => geminiReactionOf(stepAt(n)));
    return {
      env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: server.url },
      files: {
        '.gemini/installation_id': '11111111-2222-4333-8444-555555555555',
        '.gemini/settings.json':
          '{ "general": { "disableAutoUpdate": true }, "privacy": { "usageStatisticsEnabled": false } }\n',
      },
      attributes: 'agent=acp, acp.command=gemini, llm_model="gemini-2.5-pro"',
      bodies: () => server.bodies,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
  async opencode(stepAt) {
    const { server, bodies } = await modelDesk('chat', (n) => chatReactionOf(stepAt(n)));
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: server.url, apiKey: '{env:MOCK_KEY}' },
      models: { m1: {} },
    };
    return {
      env: { MOCK_KEY: key, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' },
      files: { '.config/opencode/opencode.json': JSON.stringify({ provider: { mock: provider } }) },
      attributes: 'agent=acp, acp.command=opencode, acp.env_keys=MOCK_KEY, llm_model="mock/m1"',
      bodies,
      [Symbol.asyncDispose]: () => server.close(),
    };
  },
  async 'codex-acp'(stepAt) {
    const { server, bodies } = await modelDesk('responses', (n) => reactionOf(stepAt(n)));
    return {
      env: { MOCK_KEY: key },
      files: { ...codexHomeFiles, '.codex/config.toml': `model = "gpt-5.2"\n${codexConfig(server.url)}` },
      attributes: 'agent=acp, acp.command=codex-acp, acp.env_keys=MOCK_KEY',
      bodies,
      [Symbol.asyncDispose]: () => server.close(),
    };
  },
};

async function modelDesk(api: SpokenApi, react: (n: number) => Reaction) {
  const bodies: string[] = [];
  const take = ({ body }: ModelRequest): Reaction => {
    if (!Array.isArray(body?.['tools']) || body['tools'].length === 0) return { text: 'A title' };
    bodies.push(JSON.stringify(body));
    return react(bodies.length - 1);
  };
  return { server: await startModelServer(take, [api]), bodies: () => bodies };
}

function chatReactionOf(step: Step): Reaction {
  if ('run' in step)
    return { calls: [{ name: 'bash', arguments: { command: step.run, description: 'work' } }] };
  if ('write' in step) {
    const { path, text } = step.write;
    return { calls: [{ name: 'write', arguments: { filePath: path, content: text } }] };
  }
  return reactionOf(step);
}

function geminiReactionOf(step: Step): GeminiReaction {
  if ('run' in step) return { call: { name: 'run_shell_command', args: { command: step.run } } };
  if ('write' in step) {
    const { path, text } = step.write;
    return { call: { name: 'write_file', args: { file_path: path, content: text } } };
  }
  if ('answer' in step) return { text: JSON.stringify({ ...success, ...step.answer }) };
  if ('prose' in step) return { text: step.prose };
  if ('status' in step) return { status: step.status, message: step.message ?? 'the mock refuses' };
  return { hang: true };
}
