/** The scripted agent: replays prepared answers in place of a single-turn model. */
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { lstat, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { agentWord, reportOfText, unknownOutcomeIn, wordsFor } from '../core/agent-answer.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import { withoutItems } from '../core/graph.ts';
import { isDisks } from '../platform/files/disk-error.ts';
import { Superseded } from '../platform/files/fence.ts';
import { isMissing, removeNow, systemWords, writeFileAtomic } from '../platform/files/write.ts';
import { type AgentKind, agentProblem } from './plan.ts';
import type { AgentScript, FileEffect } from './script.ts';

export type ScriptedOptions = {
  readonly script: AgentScript;
  /** Where the script lies: `file` answers are relative to its folder. */
  readonly scriptPath: string;
  /** Reads a file as UTF-8; rejects when it cannot. */
  readonly readFile: (path: string) => Promise<string>;
};

export const planScripted: AgentKind['plan'] = ({ script }, chosenBy) =>
  script === undefined
    ? agentProblem(
        'agent-script-missing',
        `${chosenBy} asks for the agent "scripted", and there is no script`,
        'give the pipeline an agent script, or choose another agent',
      )
    : {
        describe: `scripted (${basename(dirname(resolve(script.path)))}/${basename(script.path)}: prepared answers, no model)`,
        create: ({ readFile }) => scriptedAgent({ script: script.script, scriptPath: script.path, readFile }),
      };

type Prepared = AgentScript['answers'][string][number];
type Usage = { readonly usage: NonNullable<Prepared['usage']> } | { readonly unbilled?: true };

const answersOf = (script: AgentScript, node: string): readonly Prepared[] =>
  Object.hasOwn(script.answers, node) ? (script.answers[node] ?? []) : [];

/** The n-th call for a node gets the script's n-th answer for it; a call without an answer fails and says where to
 *  add one. */
export function scriptedAgent(options: ScriptedOptions): Agent {
  const { script, scriptPath } = options;
  // Answers that say what they count for are held against the limits as a model's would be.
  const counts = Object.values(script.answers).some((list) => list.some((one) => one.usage !== undefined));
  return {
    name: 'scripted',
    ...(counts ? {} : { free: true as const }),
    modelFor(task) {
      const usage = answersOf(script, task.node)[task.call - 1]?.usage;
      return usage === undefined || usage.cost_usd !== null ? undefined : usage.model;
    },
    describe: `scripted: answers from ${scriptPath}`,
    preparedFor: (node) =>
      Object.keys(script.answers).some((name) => name !== node && withoutItems(name) === node),
    async work(task, signal) {
      const report = signal.aborted
        ? undefined
        : await answer(task, options, counts ? { unbilled: true } : {});
      if (report === undefined || signal.aborted) return { kind: 'cancelled' };
      if (report.kind === 'answered') {
        try {
          task.onText?.(report.text, 'answer');
        } catch {
          // A view that cannot show the text is no reason to lose it.
        }
      }
      return report;
    },
  };
}

async function answer(
  task: AgentTask,
  options: ScriptedOptions,
  unbilled: { readonly unbilled?: true },
): Promise<AgentReport> {
  const { script, scriptPath } = options;
  const config = (reason: string): AgentReport => ({ kind: 'failed', class: 'config', reason, ...unbilled });
  const prepared = answersOf(script, task.node);
  const next = prepared[task.call - 1];
  if (next === undefined) {
    const there = prepared.length === 1 ? 'is 1 answer' : `are ${prepared.length} answers`;
    return config(
      `no answer for call ${task.call} of node "${task.node}": there ${there} for it; ` +
        `add one under answers.${task.node} in ${scriptPath}`,
    );
  }
  if (next.files !== undefined) {
    const wrong = await applyEffects(next.files, task.workspace, dirname(scriptPath));
    if (wrong !== undefined)
      return config(`answer ${task.call} of node "${task.node}" in ${scriptPath}: ${wrong}`);
  }
  const usage = next.usage === undefined ? unbilled : { usage: next.usage };
  if (next.fail !== undefined) return failed(next.fail, usage);
  if (next.finished !== undefined) return finished(next.finished, task, usage);
  const text = await textOf(next, options);
  if (typeof text === 'string') return { ...reportOfText(task, text), ...usage };
  return config(`answer ${task.call} of node "${task.node}" is in ${text.problem}`);
}

function failed(
  { class: failureClass, reason, model: modelName, response }: NonNullable<Prepared['fail']>,
  usage: Usage,
): AgentReport {
  const model = modelName ?? (failureClass === 'infra' ? 'api' : undefined);
  return {
    ...{ kind: 'failed', class: failureClass, reason },
    ...(model === undefined ? {} : { model }),
    ...(response === undefined ? {} : { response }),
    ...usage,
  };
}

function finished(answer: NonNullable<Prepared['finished']>, task: AgentTask, usage: Usage): AgentReport {
  const words = wordsFor(task);
  const word = agentWord(answer.outcome, words);
  if (word === undefined) {
    const reason = `the answer ${unknownOutcomeIn(answer.outcome, words)}`;
    return { kind: 'failed', class: 'agent', reason, ...usage };
  }
  return {
    kind: 'finished',
    outcome: word.outcome,
    label: word.label ?? answer.preferred_next_label,
    ...(word.label === undefined ? {} : { ownWord: true }),
    suggested: answer.suggested_next_ids,
    notes: answer.notes,
    reason: answer.failure_reason,
    updates: answer.context_updates,
    ...(answer.verification_plan === undefined ? {} : { verificationPlan: answer.verification_plan }),
    response: answer.response,
    ...usage,
  };
}

async function textOf(
  { text, json, file = '' }: Prepared,
  { scriptPath, readFile }: ScriptedOptions,
): Promise<string | { readonly problem: string }> {
  if (text !== undefined) return text;
  if (json !== undefined) return JSON.stringify(json, null, 2);
  const path = join(dirname(scriptPath), file);
  try {
    return await readFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `${path}, which cannot be read: ${why}` };
  }
}

/** Why a script may not answer a run with these inputs (SHA-256 by variable name), or undefined when it may: every
 *  input that both name is the same, and they have at least one in common when the script names any. */
export function scriptMatchesInputs(
  script: AgentScript,
  inputs: Readonly<Record<string, string>>,
): Diagnostic | undefined {
  const made = Object.entries(script.inputs);
  const common = made.filter(([name]) => Object.hasOwn(inputs, name));
  const differing = common.filter(([name, hash]) => inputs[name]?.toLowerCase() !== hash.toLowerCase());
  const refuse = (message: string): Diagnostic => ({
    code: 'agent-script-inputs',
    severity: 'error',
    message,
    fix: 'set OPENAI_API_KEY or choose another agent with --agent, or run with the input the script was made for',
  });
  if (differing.length > 0) {
    const named = differing
      .map(
        ([name, hash]) => `"${name}" (made for ${hash.slice(0, 12)}…, given ${inputs[name]?.slice(0, 12)}…)`,
      )
      .join(', ');
    return refuse(`the agent script was made for another ${named}; another text needs another agent`);
  }
  if (made.length > 0 && common.length === 0) {
    const names = made.map(([name]) => `"${name}"`).join(', ');
    return refuse(
      `the agent script was made for ${names}, and this run has no such input; it needs another agent`,
    );
  }
  return undefined;
}

/* What a prepared answer changes in the workspace, done as an agent would have done it. */

/** Carries the changes out, one after the other. The first that fails ends it; the answer is the reason. `scriptDir`
 *  is the script's folder. */
async function applyEffects(
  effects: readonly FileEffect[],
  workspace: string,
  scriptDir: string,
): Promise<string | undefined> {
  for (const effect of effects) {
    try {
      const wrong = await carriedOut(effect, workspace, scriptDir);
      if (wrong !== undefined) return `files: ${effect.path}: ${wrong}`;
    } catch (error) {
      // Nor is a run that is another's by now a matter of what the answer asks for.
      if (isDisks(error) || error instanceof Superseded) throw error;
      return `files: ${effect.path}: ${systemWords(error)}`;
    }
  }
  return undefined;
}

async function carriedOut(
  effect: FileEffect,
  workspace: string,
  scriptDir: string,
): Promise<string | undefined> {
  const path = join(workspace, effect.path);
  if (!(await staysInside(workspace, dirname(path)))) return 'it leads out of the workspace by a link';
  if (effect.delete === true) {
    removeNow(path);
    return undefined;
  }
  if (effect.link !== undefined) {
    removeNow(path);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(effect.link, path);
    return undefined;
  }
  const bytes = await contentOf(effect, scriptDir);
  if ('wrong' in bytes) return bytes.wrong;
  const was = await lstat(path).catch(() => undefined);
  if (was !== undefined && !was.isFile()) removeNow(path);
  const mode = effect.mode === undefined ? undefined : Number.parseInt(effect.mode, 8);
  // A file that is there keeps its mode, as with an editor.
  const kept = was?.isFile() === true ? was.mode & 0o7777 : 0o644;
  await writeFileAtomic(path, bytes.content, { mode: mode ?? kept });
  if (mode !== undefined) chmodSync(path, mode);
  return undefined;
}

async function contentOf(
  effect: FileEffect,
  scriptDir: string,
): Promise<{ readonly content: string | Uint8Array } | { readonly wrong: string }> {
  if (effect.base64 !== undefined) return { content: Buffer.from(effect.base64, 'base64') };
  if (effect.content_file === undefined) return { content: effect.content ?? '' };
  const source = resolve(scriptDir, effect.content_file);
  try {
    return { content: await readFile(source) };
  } catch (error) {
    return {
      wrong: `content_file ${source} cannot be read: ${isMissing(error) ? 'there is no such file' : systemWords(error)}`,
    };
  }
}

/** False when the folder, or the nearest one above it that exists, is somewhere else by a link. */
async function staysInside(workspace: string, folder: string): Promise<boolean> {
  const root = await realpath(workspace);
  for (let at = folder; ; at = dirname(at)) {
    try {
      const real = await realpath(at);
      return real === root || real.startsWith(`${root}/`);
    } catch (error) {
      if (!isMissing(error) || at === workspace) return false;
    }
  }
}
