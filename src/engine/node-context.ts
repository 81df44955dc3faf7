/** The context of one attempt: what the node may use, limited to its workspace, its directory and its secrets. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asText, inputKey } from '../core/context.ts';
import type { NodeContext, NodeFiles, NodeInputs, WorkspaceFiles } from '../core/contracts/node-kind.ts';
import { conversationAt } from '../core/fidelity.ts';
import { itemCalled, itemOf } from '../core/for-each.ts';
import { idInRun, type Node } from '../core/graph.ts';
import { type JsonObject, own } from '../core/json.ts';
import { latestKeysIn } from '../core/latest-keys.ts';
import { maskedObject } from '../core/policy/mask.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { expand, type nodeKeys } from '../core/references.ts';
import { staysInside, writeInside } from '../platform/files/inside.ts';
import { readSome } from '../platform/files/read.ts';
import { isCode, isMissing } from '../platform/files/write.ts';
import { maskKept } from '../run/artifacts.ts';
import { unlockNodeDirectory } from '../run/node-directory.ts';
import { type AttemptSecrets, attemptSecrets } from './attempt-secrets.ts';
import { isInBranchFolder, placeInSandbox } from './branch-folder.ts';
import { joinedBranches } from './joined-branches.ts';
import type { AttemptFacts, LayerContext } from './layers/layer.ts';
import { type AttemptRecords, stageRecords } from './node-records.ts';
import { preambleFor } from './past.ts';
import { askedPerson } from './question.ts';
import type { Run } from './run-context.ts';
import { waitFrom } from './waiting.ts';

/** The context with everything that belongs to one attempt. Secrets are masked in all that it writes. */
export function attemptContext(context: LayerContext, attempt: AttemptFacts): LayerContext {
  const { run, node } = context;
  const secrets = attemptSecrets(run, node);
  const { mask } = secrets;
  const artifacts = nodeFiles(context, secrets);
  return context.with({
    attempt,
    deadline: run.clock.monotonic() + attempt.timeout.ms,
    secrets,
    hidden: { paths: [], made: [], sealed: [] },
    inputs: inputsOf(context, mask),
    toolState: toolStateOf(context, secrets),
    workspace: run.files ?? workspaceFiles(run),
    ...artifacts,
    ...askedPerson(context, secrets, artifacts.files.keep),
    wait: (ms) => waitFrom(context, ms, attempt.timeout.ms),
    log: nodeLog(run, node, mask),
  });
}

/** The run's log, for messages about a node. */
export const nodeLog =
  (run: Run, node: Node, mask: (text: string) => string): NodeContext['log'] =>
  (level, message, fields = {}) =>
    run.log(level, mask(message), { node: node.id, ...maskedObject(fields, mask) });

/** Expands references in the words of the run's graph. */
export const expansionIn =
  (run: Pick<Run, 'graph' | 'variables'>, state: RunState): NodeInputs['expand'] =>
  (text, mode) =>
    expand(
      text,
      {
        goal: run.graph.settings.goal?.text,
        lookup: (kind, key) => known(run, state, kind, key),
        item: itemOf(run.graph),
      },
      mode,
    );

/** Keys that only the engine sets in this graph: in a called pipeline, its variables too. */
function engineKeysIn({ graph, prompts, variables }: Run): ReadonlySet<string> {
  const latest = latestKeysIn(graph, prompts);
  if (graph.call === undefined) return latest;
  return new Set([...latest, ...Object.keys(variables).map(inputKey)]);
}

const inputsOf = ({ run, node, state, notes }: LayerContext, mask: AttemptSecrets['mask']): NodeInputs => ({
  previous: state.last_outcome ?? undefined,
  values: state.context,
  origin: (key) => own(state.origins, key),
  // Only agents read it: it looks at all edges.
  get conversation() {
    return conversationAt(run.graph, node, state);
  },
  notes: () => notes.forPrompt(),
  preamble: (kind) => preambleFor(kind, { run, node, state }, mask),
  joined: () => joinedBranches({ run, node, state }, mask),
  latestKeys: engineKeysIn(run),
  expand: expansionIn(run, state),
  prompt: (reference) => own(run.prompts, reference),
  schema: run.schema,
});

function toolStateOf({ state }: LayerContext, { mask }: AttemptSecrets): LayerContext['toolState'] {
  let kept: JsonObject | undefined;
  return {
    last: state.tool_state,
    keep(now) {
      kept = maskedObject(now, mask);
    },
    now: () => kept,
  };
}

function nodeFiles(
  { run, node, nodeDir }: LayerContext,
  { mask, known: values }: AttemptSecrets,
): { readonly files: NodeFiles; readonly records: AttemptRecords } {
  const records = stageRecords(nodeDir, mask, (changed) =>
    run.log('warn', 'restored records of the engine that the node had changed', { node: node.id, changed }),
  );
  let odd: readonly string[] = [];
  return {
    records: {
      ...records,
      reopen() {
        odd = unlockNodeDirectory(nodeDir);
      },
    },
    files: {
      path: nodeDir,
      keep: records.keep,
      mask: (name) => maskKept(join(nodeDir, name), values()),
      read: (name, limit, tail) => readSome(join(nodeDir, name), limit, tail),
      wasNoFile: (name) => odd.includes(join(nodeDir, name)),
    },
  };
}

const workspaceFiles = ({ workspace, runDir }: Run): WorkspaceFiles => ({
  path: workspace,
  ...(isInBranchFolder({ workspace, runDir }) ? { seenAt: placeInSandbox({ workspace, runDir }) } : {}),
  async read(path, limit) {
    return (await staysInside(workspace, path)) ? readSome(join(workspace, path), limit) : undefined;
  },
  write: (path, content) => writeInside(workspace, path, content),
  async stat(path) {
    if (!(await staysInside(workspace, path))) return undefined;
    try {
      const is = await stat(join(workspace, path));
      return is.isFile() ? 'file' : is.isDirectory() ? 'dir' : undefined;
    } catch (error) {
      if (isMissing(error) || isCode(error, 'ELOOP')) return undefined;
      throw error;
    }
  },
});

/** The value of `${var.x}`, `${ctx.key}` or `${node.id.key}`; undefined if there is none. */
function known(
  run: Pick<Run, 'variables' | 'graph'>,
  state: RunState,
  kind: 'var' | 'ctx' | 'node',
  key: string,
): string | undefined {
  switch (kind) {
    case 'var':
      return own(run.variables, key) ?? itemCalled(run.graph, key);
    case 'ctx': {
      const value = own(state.context, key);
      return value === undefined ? undefined : asText(value);
    }
    case 'node': {
      const dot = key.indexOf('.');
      const id = idInRun(run.graph, key.slice(0, dot));
      const outcome = own(state.outcomes, id);
      if (dot < 0 || outcome === undefined) return undefined;
      const named = key.slice(dot + 1) as (typeof nodeKeys)[number]; // any other word is the default's
      switch (named) {
        case 'outcome':
          return outcome.status;
        case 'label':
        case 'preferred_label':
          return outcome.label;
        case 'notes':
          return outcome.notes;
        case 'failure_reason':
          return outcome.reason;
        case 'failure_class':
          return outcome.class ?? '';
        case 'visits':
          return String(own(state.visits, id) ?? 0);
        default:
          return undefined;
      }
    }
  }
}
