/** Sends the spans of a run to a collector, in the background, whenever an execution has ended. */

import type { Environment } from '../../core/contracts/process.ts';
import type { Log } from '../../core/contracts/watcher.ts';
import { statusAtEnd } from '../../core/overridden.ts';
import type { LineFacts } from '../../core/records/journal.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { type HttpSend, realSend } from '../../platform/http.ts';
import { packageVersion } from '../../platform/package.ts';
import {
  attributesOf,
  executionSpans,
  runSpan,
  type StartedCall,
  type TracedCall,
  type TraceSpan,
} from './spans.ts';
import { type TraceTarget, traceTarget } from './target.ts';

export interface TraceExporter {
  /** Takes a line that the journal has. */
  add(line: LineFacts): void;
  /** Waits for what is being sent, and sends the rest once; closed again it does nothing more. Never rejects. */
  close(): Promise<void>;
}

/** Spans that wait for a collector which does not answer; older ones are dropped. */
const mostWaiting = 2000;

/** The exporter of a run, if the environment names a collector. `lines`: the journal until now. */
export function openTraceExporter(
  manifest: Manifest,
  lines: readonly LineFacts[],
  { env, log }: { readonly env: Environment; readonly log: Log },
): TraceExporter | undefined {
  const target = traceTarget(env);
  if (target === undefined) return undefined;
  if ('why' in target) {
    log('warn', 'traces are not sent', { why: target.why });
    return undefined;
  }
  const gathered = new SpanGatherer(manifest, lines);
  const sender = new SpanSender(target, log, realSend);
  return {
    add: (line) => sender.send(gathered.add(line)),
    close: () => sender.close(),
  };
}

/** Makes spans of lines: an execution needs when it began, and its calls. */
class SpanGatherer {
  private readonly began = new Map<string, string>();
  private readonly started = new Map<string, StartedCall>();
  private readonly calls = new Map<string, TracedCall[]>();
  private readonly manifest: Manifest;

  constructor(manifest: Manifest, lines: readonly LineFacts[]) {
    this.manifest = manifest;
    for (const line of lines) this.add(line);
  }

  add(line: LineFacts): readonly TraceSpan[] {
    switch (line.type) {
      case 'Began':
        this.began.set(executionOf(line), line.at);
        return [];
      case 'CallStarted':
        this.started.set(callOf(line), line);
        return [];
      case 'CallEnded': {
        const started = this.started.get(callOf(line));
        if (started === undefined) return [];
        this.started.delete(callOf(line));
        const of = executionOf(line);
        this.calls.set(of, [...(this.calls.get(of) ?? []), { started, ended: line }]);
        return [];
      }
      case 'Visit': {
        const of = executionOf(line);
        const began = this.began.get(of) ?? line.at;
        const spans = executionSpans(this.manifest, line, began, this.calls.get(of) ?? []);
        this.began.delete(of);
        this.calls.delete(of);
        return [...spans, ...this.endOf(line)];
      }
      case 'Stopped':
        return this.endOf(line);
      default:
        return [];
    }
  }

  /** The span of the run, when it ends: not when it is interrupted or suspended, since it may be resumed. */
  private endOf({
    at,
    ended,
    spent,
  }: Extract<LineFacts, { type: 'Visit' | 'Stopped' }>): readonly TraceSpan[] {
    if (ended === undefined || ended === null) return [];
    return [runSpan(this.manifest, { at, status: statusAtEnd(ended), code: ended.code, spent })];
  }
}

const executionOf = ({ node, visit }: { readonly node: string; readonly visit: number }): string =>
  `${node}@${visit}`;
/** The calls of one attempt come one after the other. */
const callOf = (line: { readonly node: string; readonly visit: number; readonly attempt: number }): string =>
  `${executionOf(line)} ${line.attempt}`;

/** How a collector answered, and what is wrong with it. */
type Sent = {
  readonly why?: string;
  /** Whether the same spans may be taken later: the collector is busy or away, and does not refuse them. */
  readonly again?: boolean;
  readonly isSilent?: boolean;
};

/** Sends one request at a time; what a collector did not get waits for the next one. */
class SpanSender {
  private waiting: readonly TraceSpan[] = [];
  private sending: Promise<Sent> = Promise.resolve({});
  private closing: Promise<void> | undefined;
  private isSending = false;
  private hasFailed = false;
  private readonly target: TraceTarget;
  private readonly log: Log;
  private readonly request: HttpSend;

  constructor(target: TraceTarget, log: Log, request: HttpSend) {
    this.target = target;
    this.log = log;
    this.request = request;
  }

  send(spans: readonly TraceSpan[]): void {
    if (spans.length === 0) return;
    this.waiting = [...this.waiting, ...spans].slice(-mostWaiting);
    if (this.isSending) return;
    this.isSending = true;
    this.sending = this.sendWaiting().finally(() => {
      this.isSending = false;
    });
  }

  close(): Promise<void> {
    this.closing ??= this.sendLast();
    return this.closing;
  }

  /** The process waits for this: a collector that is silent now is not asked again. */
  private async sendLast(): Promise<void> {
    const isUnderWay = this.isSending;
    const { isSilent = false } = await this.sending;
    if (this.waiting.length > 0 && !(isUnderWay && isSilent)) await this.sendWaiting();
  }

  /** Until nothing waits, or the collector does not take it. */
  private async sendWaiting(): Promise<Sent> {
    while (this.waiting.length > 0) {
      const spans = this.waiting;
      this.waiting = [];
      const sent = await this.sendOnce(spans);
      if (sent.why === undefined) continue;
      if (!this.hasFailed) this.log('warn', 'traces could not be sent', { why: sent.why });
      this.hasFailed = true;
      if (sent.again !== true) continue;
      this.waiting = [...spans, ...this.waiting].slice(-mostWaiting);
      return sent;
    }
    return {};
  }

  private async sendOnce(spans: readonly TraceSpan[]): Promise<Sent> {
    const { url, headers, timeoutMs, resource } = this.target;
    const attributes = attributesOf({ 'service.version': packageVersion(), ...resource });
    const scope = { name: 'factory', version: packageVersion() };
    const body = JSON.stringify({
      resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope, spans }] }],
    });
    const answer = await this.request({
      ...{ method: 'POST', url, body, timeoutMs, mostBytes: longestAnswer },
      headers: { ...headers, 'Content-Type': 'application/json' },
    });
    const { host } = new URL(url);
    if ('unreachable' in answer)
      return { why: `${host}: ${answer.unreachable}`, again: true, isSilent: true };
    const { status } = answer;
    if (status >= 200 && status < 300) return rejectedBy(host, answer.body);
    return { why: `${host} answered ${status}`, again: [408, 429].includes(status) || status >= 500 };
  }
}

/** Bytes of an answer. */
const longestAnswer = 1024 * 1024;

/** What a collector says of spans that it took only in part; its words are its own and stay out of the log. */
function rejectedBy(host: string, body: string): Sent {
  const count = Number(/"(?:rejectedSpans|rejected_spans)"\s*:\s*"?(\d+)/.exec(body)?.[1] ?? 0);
  return count > 0 ? { why: `${host} rejected ${count} of the spans` } : {};
}
