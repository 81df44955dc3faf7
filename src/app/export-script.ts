/** The recorded answers of a run as a script for the scripted agent. */
import type { AgentScript } from '../agents/script.ts';
import type { Usage } from '../core/budget/usage.ts';
import type { AgentReport } from '../core/contracts/agent.ts';
import type { Exchange } from '../core/records/exchange.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { answersOf, callKey, callsOf } from '../run/answers.ts';
import type { ReadBody } from '../run/exchanges.ts';
import type { Snapshots } from '../workspace/snapshot.ts';

type Answer = AgentScript['answers'][string][number];

/** The script, and the calls that it has no answer for. `snapshots` has the files that agents wrote. */
export async function exportScript(
  run: {
    readonly manifest: Manifest;
    readonly records: readonly RunRecord[];
    readonly exchanges: readonly Exchange[];
    readonly body: ReadBody;
  },
  snapshots: Snapshots,
): Promise<{
  readonly script: AgentScript;
  readonly unanswered: readonly { readonly node: string; readonly call: number }[];
}> {
  const { manifest, records } = run;
  const found = answersOf(records, run.exchanges);
  const answers: Record<string, Answer[]> = {};
  const unanswered: { node: string; call: number }[] = [];
  for (const [node, count] of callsOf(records)) {
    const list: Answer[] = [];
    for (let call = 1; call <= count; call++) {
      const exchange = found.get(callKey(node, call));
      if (exchange === undefined) unanswered.push({ node, call });
      list.push(exchange === undefined ? noAnswer : await answerOf(exchange, run.body, snapshots));
    }
    answers[node] = list;
  }
  const inputs = Object.fromEntries(
    Object.entries(manifest.variables).flatMap(([name, { file }]) =>
      file === undefined ? [] : [[name, file.sha256]],
    ),
  );
  const note = `Recorded from run ${manifest.run_id} of ${manifest.started_at} (${manifest.agent.describe || 'no agent'})`;
  return { script: { format: 'factory-script/1', inputs, note, answers }, unanswered };
}

/** A prompt that could not be made counts as a call, though no agent was called. */
const noAnswer: Answer = { fail: { class: 'config', reason: 'the recorded run called no agent here' } };

async function answerOf(exchange: Exchange, body: ReadBody, snapshots: Snapshots): Promise<Answer> {
  const report = JSON.parse(body(exchange.report ?? 'null')) as AgentReport;
  const files: NonNullable<Answer['files']> = [];
  const changes = exchange.files?.changes ?? [];
  if (exchange.files !== null && changes.length > 0) await snapshots.load(exchange.files.after);
  // Deletions come first: a folder may be where a file was, and a file where a folder was.
  for (const { path, change } of changes) if (change === 'deleted') files.push({ path, delete: true });
  for (const { path, change, kind, mode, sha256, target } of changes) {
    // Folders come with what is in them.
    if (kind === 'dir' || change === 'deleted') continue;
    if (target !== undefined) files.push({ path, link: target });
    else if (sha256 !== undefined)
      files.push({
        path,
        ...contentOf(await snapshots.read(sha256)),
        mode: (mode ?? 0o644).toString(8),
      });
  }
  const usage = exchange.usage === null ? {} : { usage: withoutAgent(exchange.usage) };
  const common = { ...(files.length === 0 ? {} : { files }), ...usage };
  switch (report.kind) {
    case 'answered':
      return { text: report.text, ...common };
    case 'failed':
      return {
        fail: {
          class: report.class,
          reason: report.reason,
          ...(report.model === undefined ? {} : { model: report.model }),
          ...(report.response === undefined ? {} : { response: report.response }),
        },
        ...common,
      };
    case 'finished':
      return {
        finished: {
          outcome: report.ownWord === true ? report.label : report.outcome,
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
        ...common,
      };
    case 'cancelled':
      return noAnswer;
  }
}

/** The agent is the scripted one when the script is used. */
const withoutAgent = ({ agent: _, ...usage }: Usage): Omit<Usage, 'agent'> => usage;

/** Text unchanged, anything else in base64. */
function contentOf(bytes: Buffer): { readonly content: string } | { readonly base64: string } {
  try {
    return { content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}
