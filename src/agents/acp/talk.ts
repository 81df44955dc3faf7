/** The talk with a program that speaks the Agent Client Protocol: one session, one prompt, and its requests for permission. */
import {
  type AnyMessage,
  type ClientContext,
  client,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import type { Clock } from '../../core/contracts/clock.ts';
import type { OpenInput } from '../../core/contracts/process.ts';
import { isObject } from '../../core/json.ts';
import { packageVersion } from '../../platform/package.ts';
import { choiceOf, permissionIn } from './permission.ts';
import { type AcpSession, keyMethodIn, modelRequest, modeRequest, sessionIn } from './session-setup.ts';
import { type AcpUpdates, messageIn, updateIn } from './updates.ts';

export type AcpTurn = {
  readonly prompt: string;
  /** The working directory, as the program sees it. */
  readonly cwd: string;
  readonly model: string | undefined;
  /** The session is set to the first of these modes that it has. */
  readonly modes: readonly string[];
  /** Whether its requests for permission are allowed, each once. */
  readonly allows: boolean;
  /** Whether it has got this variable, with a key. */
  hasKey(variable: string): boolean;
  /** Its way to log in with a key that it has got. */
  readonly keyMethod: string | undefined;
};

/** How the talk ended. */
export type AcpEnd =
  /** The turn ended; `result` is the answer to the prompt. */
  | { readonly kind: 'turn'; readonly stopReason: string; readonly result: unknown }
  /** The program answered a request with an error. */
  | { readonly kind: 'error'; readonly to: string; readonly error: RequestError }
  /** What it is, or offers, does not fit the task. */
  | { readonly kind: 'unfit'; readonly why: string }
  /** It says more than can be an answer. */
  | { readonly kind: 'flood' };

export interface AcpTalk {
  /** Undefined until it ended; and where the program ended before. */
  readonly end: AcpEnd | undefined;
  /** The model of the session, where it is reported. */
  readonly model: string | undefined;
  /** Whether the program was asked for its turn. */
  readonly isAsked: boolean;
  /** The first line that was no message. */
  readonly stray: string | undefined;
  /** What was said to the program, a message a line. */
  readonly sent: readonly string[];
  begin(input: OpenInput): Promise<void>;
  /** Takes a line of standard output. */
  line(text: string): void;
  /** The program has ended. Settles when all that it said has been heard. */
  close(): Promise<void>;
}

/** Milliseconds that a program has to answer the first request, and the last one. */
const firstAnswerMs = 120_000;
const lastAnswerMs = 2_000;

export const acpTalk = (
  turn: AcpTurn,
  updates: AcpUpdates,
  on: { readonly clock: Clock; readonly signal: AbortSignal },
): AcpTalk => new Talk(turn, updates, on);

class Talk implements AcpTalk {
  readonly #turn: AcpTurn;
  readonly #updates: AcpUpdates;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  /** Ids of requests of ours without an answer. */
  readonly #asked = new Set<unknown>();
  readonly #over = new AbortController();
  #messages: ReadableStreamDefaultController<AnyMessage> | undefined;
  #session: AcpSession | undefined;
  #settled: Promise<void> | undefined;
  readonly sent: string[] = [];
  end: AcpEnd | undefined;
  isAsked = false;
  stray: string | undefined;

  constructor(
    turn: AcpTurn,
    updates: AcpUpdates,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ) {
    this.#turn = turn;
    this.#updates = updates;
    this.#clock = clock;
    this.#signal = signal;
  }

  get model(): string | undefined {
    return this.#turn.model ?? this.#session?.model;
  }

  begin(input: OpenInput): Promise<void> {
    this.#settled = this.#begin(input);
    return this.#settled;
  }

  async #begin(input: OpenInput): Promise<void> {
    const write = (message: object) => {
      const text = JSON.stringify(message);
      this.sent.push(text);
      input.write(`${text}\n`);
    };
    const cancel = () => {
      const sessionId = this.#session?.id;
      // At once: the program is ended now.
      if (sessionId !== undefined && this.end === undefined)
        write({ jsonrpc: '2.0', method: methods.agent.session.cancel, params: { sessionId } });
    };
    this.#signal.addEventListener('abort', cancel, { once: true });
    const connection = client({ name: 'factory' })
      .onRequest(
        methods.client.session.requestPermission,
        (params) => params,
        ({ params }) => this.#permit(params),
      )
      .connect({
        readable: new ReadableStream({
          start: (controller) => {
            this.#messages = controller;
          },
        }),
        writable: new WritableStream({
          write: (message) => {
            if ('method' in message && 'id' in message) this.#asked.add(message.id);
            write(message);
          },
        }),
      });
    const stopped = new Promise<void>((resolve) => {
      this.#over.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    try {
      await Promise.race([this.#converse(connection.agent), stopped]);
    } finally {
      this.#signal.removeEventListener('abort', cancel);
      this.#over.abort();
      connection.close();
    }
  }

  line(text: string): void {
    const message = messageIn(text);
    if (message === undefined) {
      if (text.trim() !== '') this.stray ??= text;
      return;
    }
    const heard = updateIn(message);
    if (heard !== undefined) {
      // What other agents say, which it starts in sessions of theirs, is no answer.
      if (this.#session === undefined || heard.session !== this.#session.id) return;
      if (heard.update !== undefined) this.#updates.take(heard.update);
      if (this.#updates.isFlood) this.#endAs({ kind: 'flood' });
      return;
    }
    if (this.#over.signal.aborted) return;
    if (!('method' in message) && !this.#asked.delete(message['id'])) return;
    this.#messages?.enqueue(message as AnyMessage);
  }

  async close(): Promise<void> {
    if (!this.#over.signal.aborted) this.#messages?.close();
    await this.#settled;
  }

  #endAs(end: AcpEnd): void {
    this.end ??= end;
    this.#over.abort();
  }

  async #converse(agent: ClientContext): Promise<void> {
    try {
      this.end = await this.#turnOf(agent);
    } catch (error) {
      // The connection was closed: the program has ended.
      if (!(error instanceof Refusal)) return;
      this.end = { kind: 'error', to: error.to, error: error.error };
    }
    if (this.end.kind === 'turn' && this.#session?.closes === true) await this.#lastAnswer(agent);
  }

  async #turnOf(agent: ClientContext): Promise<AcpEnd> {
    const hello = await this.#within(
      firstAnswerMs,
      ask(agent, methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        // Files and commands are its own: through us they would be used outside of its sandbox.
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        clientInfo: { name: 'factory', version: packageVersion() },
      }),
    );
    if (hello === undefined)
      return { kind: 'unfit', why: `it did not answer \`initialize\` within ${firstAnswerMs / 1000} s` };
    const version = isObject(hello) ? hello['protocolVersion'] : undefined;
    if (version !== PROTOCOL_VERSION)
      return {
        kind: 'unfit',
        why: `it speaks version ${JSON.stringify(version) ?? 'unknown'} of the protocol, and version ${PROTOCOL_VERSION} is needed`,
      };
    const opened = sessionIn(await this.#newSession(agent, hello), hello);
    if (opened === undefined) return { kind: 'unfit', why: 'its answer to `session/new` names no session' };
    this.#session = opened;
    for (const request of [modeRequest(opened, this.#turn.modes), modelRequest(opened, this.#turn.model)]) {
      if (request === undefined) continue;
      if ('problem' in request) return { kind: 'unfit', why: request.problem };
      await ask(agent, request.method, request.params);
    }
    this.isAsked = true;
    const result = await ask(agent, methods.agent.session.prompt, {
      sessionId: opened.id,
      prompt: [{ type: 'text', text: this.#turn.prompt }],
    });
    const { stopReason } = (result ?? {}) as { readonly stopReason?: unknown };
    return { kind: 'turn', stopReason: String(stopReason), result };
  }

  /** Where it wants a login, and one of its ways to log in is a key that it has, it logs in. */
  async #newSession(agent: ClientContext, hello: unknown): Promise<unknown> {
    const params = { cwd: this.#turn.cwd, mcpServers: [] };
    try {
      return await ask(agent, methods.agent.session.new, params);
    } catch (error) {
      const methodId = keyMethodIn(hello, (name) => this.#turn.hasKey(name), this.#turn.keyMethod);
      if (!(error instanceof Refusal) || error.error.code !== authRequired || methodId === undefined)
        throw error;
      await ask(agent, methods.agent.authenticate, { methodId });
      return ask(agent, methods.agent.session.new, params);
    }
  }

  /** Its answer comes after the updates that it has not sent yet. */
  async #lastAnswer(agent: ClientContext): Promise<void> {
    const closed = ask(agent, methods.agent.session.close, { sessionId: this.#session?.id });
    // The turn is over, whatever it answers.
    await this.#within(lastAnswerMs, closed).catch(() => {});
  }

  async #within<T>(ms: number, answer: Promise<T>): Promise<T | undefined> {
    const answered = new AbortController();
    const late = this.#clock.sleep(ms, answered.signal);
    try {
      return await Promise.race([answer, late.then(() => undefined)]);
    } finally {
      answered.abort();
    }
  }

  #permit(params: unknown) {
    const request = permissionIn(params);
    if (request === undefined) throw RequestError.invalidParams();
    if (this.#signal.aborted) return { outcome: { outcome: 'cancelled' as const } };
    const optionId = choiceOf(request.options, this.#turn.allows);
    if (!this.#turn.allows || optionId === undefined) this.#updates.refused(request.toolCall);
    else this.#updates.take({ kind: 'call', call: request.toolCall });
    return optionId === undefined
      ? { outcome: { outcome: 'cancelled' as const } }
      : { outcome: { outcome: 'selected' as const, optionId } };
  }
}

/** The code of an error that asks for a login. */
export const authRequired = -32000;

/** A request that was answered with an error. */
class Refusal extends Error {
  readonly to: string;
  readonly error: RequestError;
  constructor(to: string, error: RequestError) {
    super(error.message);
    this.to = to;
    this.error = error;
  }
}

/** The answer as it came: agents differ in what they add to the protocol. */
async function ask(agent: ClientContext, method: string, params: object): Promise<unknown> {
  try {
    return await agent.request<unknown>(method, params);
  } catch (error) {
    throw error instanceof RequestError ? new Refusal(method, error) : error;
  }
}
