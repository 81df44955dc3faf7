/** Example runs made with the real engine: real processes and files, and prepared answers instead of an agent. */
import { expect, test } from 'vitest';
import type { Diagnostic, WitnessStep } from '../../../src/core/diagnostic.ts';
import type { Graph } from '../../../src/core/graph.ts';
import { findingsOf, typedText } from '../../support/graph.ts';
import { house } from '../../support/house.ts';
import { claimed, typeOf } from './follow.ts';

const act = (id: string) =>
  `${id} [shape=parallelogram, sets_plan=true, tool_command="exec sh act.sh ${id}"]`;
const judge = (id: string) => `${id} [type=verification, verification.allowed_commands=true]`;
const digraph = (...body: readonly string[]) => {
  const bad = body.some((line) => line.includes('-> bad')) ? ['bad [shape=Msquare, outcome=fail]'] : [];
  return ['digraph g {', 'start [shape=Mdiamond]', 'done [shape=Msquare]', ...bad, ...body, '}'].join('\n');
};

/** The file that a tool reads in its n-th execution, or the answer of an agent. */
function behaviours(graph: Graph, witness: readonly WitnessStep[]) {
  const files: Record<string, string> = {};
  const answers: Record<string, object[]> = {};
  const visits = new Map<string, number>();
  witness.forEach((step, at) => {
    const visit = (visits.get(step.node) ?? 0) + 1;
    visits.set(step.node, visit);
    const judged = witness.slice(at + 1).find(({ node }) => typeOf(graph, node) === 'verification');
    const plan = { files: judged?.outcome === 'fail' ? ['nowhere.txt'] : [], commands: ['true'] };
    const words = {
      outcome: step.outcome,
      preferred_next_label: step.preferred_label ?? '',
      suggested_next_ids: step.suggested_ids ?? [],
      context_updates: { ...step.sets, 'verification.plan': plan },
    };
    if (typeOf(graph, step.node) === 'tool') {
      files[`act/${step.node}.${visit}.json`] = JSON.stringify(
        step.failure_class === undefined ? words : { ...words, failure_class: step.failure_class },
      );
      if (step.broke === true) files[`act/${step.node}.${visit}.breaks`] = '';
    } else if (typeOf(graph, step.node) === 'codergen') {
      const answer =
        step.broke === true ? { fail: { class: 'agent', reason: 'crashed' } } : { finished: words };
      answers[step.node] = [...(answers[step.node] ?? []), answer];
    }
  });
  return { files, answers };
}

const script = `
if [ -e "act/$1.$FACTORY_VISIT.breaks" ]; then kill -9 $$; fi
cp "act/$1.$FACTORY_VISIT.json" "$FACTORY_OUTPUT"
`;

type Row = readonly [code: string, pipeline: string, ends: RegExp];
const rows: readonly Row[] = [
  [
    'edge-never-taken',
    digraph(act('a'), act('b'), 'start -> a; a -> done; a -> b [condition="x=1 && x=2"]; b -> done'),
    /^success$/,
  ],
  [
    'edge-never-taken',
    digraph(act('a'), judge('v'), act('b'), 'start -> a -> v; v -> b; v -> done; b -> done'),
    /./,
  ],
  [
    'outcome-uncovered',
    digraph(
      act('a'),
      act('b'),
      'start -> a; a -> b [condition="x=1"]; a -> done [condition="x!=1"]; b -> done [condition="outcome=success"]',
    ),
    /no route from node b for outcome fail/,
  ],
  [
    'outcome-uncovered',
    digraph(act('a'), act('b'), 'start -> a; a -> done [condition="outcome=success"]; a -> b; b -> done'),
    /no route from node a for outcome fail/,
  ],
  [
    'outcome-uncovered',
    digraph(
      'a [prompt=x, allow_partial=true]',
      'start -> a; a -> done [condition="outcome=success"]; a -> bad [condition="outcome=fail"]',
    ),
    /no route from node a for outcome partial_success/,
  ],
  [
    'outcome-uncovered',
    digraph(act('a'), judge('v'), 'start -> a -> v; v -> done [condition="outcome=success"]'),
    /no route from node v for outcome fail/,
  ],
  ['failure-to-success', digraph(act('a'), 'b [prompt=x]', 'start -> a -> b -> done'), /^success$/],
  [
    'failure-to-success',
    digraph(act('a'), 'b [prompt=x, allowed_write_paths="src/"]', 'start -> a -> b -> done'),
    /^success$/,
  ],
  [
    'failure-to-success',
    digraph(
      'a [prompt=x]',
      act('b'),
      'd [shape=diamond]',
      'start -> a -> d; d -> b; b -> done [condition="context.k>2 && preferred_label=go"]; b -> bad',
    ),
    /^success$/,
  ],
  [
    'endless-cycle',
    digraph(act('a'), 'b [prompt=x]', 'start -> a -> b -> a; b -> done [condition="outcome=retry"]'),
    /^max_steps/,
  ],
];

test.for(rows)('the example run of %s in %s is the route of a real run', async ([code, pipeline, ends]) => {
  const { graph } = typedText(pipeline);
  const found: Diagnostic | undefined = findingsOf(pipeline).find((d) => d.code === code);
  const witness = found?.witness;
  if (witness === undefined) throw new Error(`no witness of ${code}`);
  const { files, answers } = behaviours(graph, witness);
  await using it = await house({
    ...files,
    'g.dot': pipeline,
    'act.sh': script,
    'answers.json': JSON.stringify({ format: 'factory-script/1', answers }),
  });
  // A cycle is followed to the end of the example.
  const cycle = code === 'endless-cycle' ? { maxSteps: String(witness.length) } : {};
  await it.run('g.dot', { runId: 'r', agent: 'scripted', script: 'answers.json', sandbox: 'none', ...cycle });
  const route = it
    .records('.factory/runs/r/events.jsonl')
    .flatMap((event) => (event['type'] === 'StageStarted' ? [event['node_id']] : []));
  const whole = claimed(witness);
  // At the end of a cycle's example, the next node is its first one.
  const gone =
    code === 'endless-cycle' ? [...route, it.json('.factory/runs/r/checkpoint.json').next_node] : route;
  // A losing edge is shown by the winning one; the end of the run does not matter.
  expect(code === 'edge-never-taken' ? gone.slice(0, whole.length) : gone).toEqual(whole);
  const result = it.json('.factory/runs/r/result.json');
  expect(result.status === 'completed' ? 'success' : result.reason).toMatch(ends);
});
