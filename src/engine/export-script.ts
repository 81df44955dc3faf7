/** A run's recorded answers as an agent script, which the scripted agent plays. */
import type { AgentReport } from '../agents/agent.ts';
import type { AgentScript } from '../model/agent-script.ts';
import type { Exchange } from '../model/exchange.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Usage } from '../model/spent.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { readBody, type StoredExchange } from '../store/exchanges.ts';
import { answersOf, keyOf } from './replay.ts';

type Answer = AgentScript['answers'][string][number];

/** The script, and the calls that it has no answer for, as `node call`. `read` gives a file's bytes by the snapshot that
 *  has it and its hash. */
export async function exportScript(
  run: {
    readonly manifest: Manifest;
    readonly records: readonly RunRecord[];
    readonly exchanges: readonly StoredExchange[];
    readonly exchangesDir: string;
  },
  read: (snapshot: string, sha256: string) => Promise<Buffer>,
): Promise<{ readonly script: AgentScript; readonly unanswered: readonly string[] }> {
  const { manifest, records } = run;
  const found = answersOf(records, run.exchanges);
  const calls = new Map<string, number>();
  for (const record of records)
    if (record.type === 'Visit' && record.calls > 0)
      calls.set(record.node, Math.max(record.calls, calls.get(record.node) ?? 0));
  const answers: Record<string, Answer[]> = {};
  const unanswered: string[] = [];
  for (const [node, count] of calls) {
    const list: Answer[] = [];
    for (let call = 1; call <= count; call++) {
      const stored = found.get(keyOf(node, call));
      if (stored === undefined) unanswered.push(`${node} ${call}`);
      list.push(stored === undefined ? nobodyAsked : await answerOf(stored.exchange, run.exchangesDir, read));
    }
    answers[node] = list;
  }
  const inputs = Object.fromEntries(
    Object.entries(manifest.variables).flatMap(([name, { file }]) =>
      file === undefined ? [] : [[name, file.sha256]],
    ),
  );
  const script: AgentScript = {
    format: 'factory-script/1',
    inputs,
    note: `Recorded from run ${manifest.run_id} of ${manifest.started_at} (${manifest.agent.describe || 'no agent'})`,
    answers,
  };
  return { script, unanswered };
}

/** A prompt that could not be made is counted as a call, though nobody was asked. */
const nobodyAsked: Answer = { fail: { class: 'config', reason: 'the recorded run asked nobody here' } };

async function answerOf(
  exchange: Exchange,
  dir: string,
  read: (snapshot: string, sha256: string) => Promise<Buffer>,
): Promise<Answer> {
  const report = JSON.parse(await readBody(dir, exchange.report ?? 'null')) as AgentReport;
  const files: NonNullable<Answer['files']> = [];
  const changes = exchange.files?.changes ?? [];
  // What went goes first: a folder may stand where a file was, and a file where a folder was.
  for (const { path, change } of changes) if (change === 'deleted') files.push({ path, delete: true });
  for (const { path, change, kind, mode, sha256, target } of changes) {
    // Folders come with what is in them.
    if (kind === 'dir' || change === 'deleted') continue;
    if (target !== undefined) files.push({ path, link: target });
    else if (sha256 !== undefined && exchange.files !== null)
      files.push({
        path,
        ...contentOf(await read(exchange.files.after, sha256)),
        mode: (mode ?? 0o644).toString(8),
      });
  }
  const usage = exchange.usage === null ? {} : { usage: withoutAgent(exchange.usage) };
  const beside = { ...(files.length === 0 ? {} : { files }), ...usage };
  switch (report.kind) {
    case 'answered':
      return { text: report.text, ...beside };
    case 'failed':
      return {
        fail: {
          class: report.class,
          reason: report.reason,
          ...(report.model === undefined ? {} : { model: report.model }),
          ...(report.response === undefined ? {} : { response: report.response }),
        },
        ...beside,
      };
    case 'finished':
      return {
        finished: {
          outcome: report.outcome,
          preferred_next_label: report.label,
          suggested_next_ids: [...report.suggested],
          notes: report.notes,
          failure_reason: report.reason,
          context_updates: JSON.parse(JSON.stringify(report.updates)),
          ...(report.verificationPlan === undefined
            ? {}
            : { verification_plan: JSON.parse(JSON.stringify(report.verificationPlan)) }),
          ...(report.response === undefined ? {} : { response: report.response }),
        },
        ...beside,
      };
    case 'cancelled':
      return nobodyAsked;
  }
}

/** Who plays the script is the agent now. */
const withoutAgent = ({ agent: _, ...usage }: Usage): Omit<Usage, 'agent'> => usage;

/** Text as it is, anything else in base64. */
function contentOf(bytes: Buffer): { readonly content: string } | { readonly base64: string } {
  try {
    return { content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}
