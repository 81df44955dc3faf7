import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Diagnostic } from '../../src/core/diagnostic.ts';
import { calledBy, findingsOf } from '../support/graph.ts';

const found = (pipeline: string, prompts?: ReadonlyMap<string, string>): readonly Diagnostic[] =>
  findingsOf(pipeline, {
    prompts,
    calls: new Map([['a', calledBy(pipeline)]]),
    isCalled: pipeline.includes('called by another'),
    files: {
      workdir: pipeline.includes('workdir=nowhere') ? 'missing' : 'there',
      has: (path) => path !== 'gone.md',
    },
  });
/** `code` and the author's text under the caret. */
const told = (pipeline: string) =>
  found(pipeline).map(({ code, place }) => [
    code,
    pipeline.slice(place?.span.start.offset, place?.span.end.offset),
  ]);

/** A pipeline around one node `a` with `label=a` and these attributes, or one with the given body. */
const around = (attrs: string, more = '') =>
  `digraph G { ${more} start [shape=Mdiamond]; exit [shape=Msquare]; a [label=a, ${attrs}]; start -> a -> exit }`;
const edge = (attrs: string) =>
  `digraph G { start [shape=Mdiamond]; exit [shape=Msquare]; a [label=a]; start -> a; a -> exit [${attrs}] }`;
const talking = (one: string, other: string, more = '') =>
  `digraph G { ${more} start [shape=Mdiamond]; exit [shape=Msquare]; a [prompt=a, ${one}]; b [prompt=b, ${other}, "codex.allow_read_scenarios"=true]; start -> a -> b -> exit }`;
/** Behind one conditional node: a node, and another that may read the scenarios. */
const chosen = (back: string) =>
  `digraph G { start [shape=Mdiamond]; exit [shape=Msquare]; d [shape=diamond]; w [prompt=w]; a [prompt=a, fidelity=full]; b [prompt=b, fidelity=full, "codex.allow_read_scenarios"=true]; start -> w -> d; d -> a [condition="outcome=fail"]; d -> b; a -> ${back}; b -> exit }`;
const tested = (attrs: string, edges = 'a -> exit [condition="outcome=success"];') =>
  `digraph G { start [shape=Mdiamond]; exit [shape=Msquare]; d [shape=diamond]; a [${attrs}]; start -> a; ${edges} }`;
const tool = (command: string, more = 'label=t') =>
  `digraph G { start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, ${more}, tool_command="${command}"]; start -> a; a -> exit [condition="outcome=success"]; a -> a }`;
const judging = (attrs: string, more = '') =>
  `digraph G { ${more} start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, tool_command="factory scenario run scripts/scenarios --app .", ${attrs}]; start -> a; a -> exit [condition="outcome=success"] }`;
const checked = (allowed: string) =>
  `digraph G { start [shape=Mdiamond]; exit [shape=Msquare]; a [label=a]; v [type=verification, "verification.allowed_commands"="${allowed}"]; start -> a -> v -> exit }`;
const set = (command: string, condition: string) =>
  `digraph G { start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, tool_command="${command}"]; start -> a; a -> exit [condition="${condition}"] }`;
const whole = (body: string) => `digraph G { ${body} }`;
const planned = (attrs: string) =>
  around(
    `${attrs}shape=parallelogram, tool_command="echo '\\"verification.plan\\"' > $FACTORY_OUTPUT"`,
    'v [type=verification, verification.allowed_commands="@plan"];',
  ).replace('a -> exit', 'a -> v -> exit');
const ends = 'start [shape=Mdiamond]; exit [shape=Msquare];';

/** Rows of graphs after `start -> a`: a, b and fix are tools, v is a verification, d is a conditional. */
function runs<R extends readonly [code: string, body: string, ...rest: string[]]>(rows: readonly R[]) {
  const tools = ['a', 'b', 'fix'].map((id) => `${id} [shape=parallelogram, tool_command=x];`).join(' ');
  const others = 'v [type=verification, verification.allowed_commands=ls]; d [shape=diamond];';
  return rows.map(([code, body, under]): readonly [string, string, string] => [
    code,
    whole(`${ends} ${tools} ${others} start -> a; ${body}`),
    under ?? '',
  ]);
}

/** A human gate `ask` after the start; b and c are agents that only its edges reach. */
const gate = (edges: string, attrs = '') =>
  whole(
    `${ends} ask [shape=hexagon, label="Go?"${attrs === '' ? '' : `, ${attrs}`}]; start -> ask; ${edges}`,
  );

/** Two branches of a fan-out with these attributes. */
const joinOf = (attrs: string, join = ''): string =>
  whole(
    `${ends} f [shape=component, ${attrs}]; a [label=a]; b [label=b]; j [shape=tripleoctagon${join}]; start -> f -> a -> j -> exit; f -> b -> j`,
  );
/** After `start -> f`: f is a fan-out, j joins, a, b and c are agents; attributes of f and a. */
const forked = (edges: string, ofFork = '', ofA = 'label=a') =>
  whole(
    `${ends} f [shape=component${ofFork}]; a [${ofA}]; b [label=b]; c [label=c]; j [shape=tripleoctagon]; start -> f; ${edges}`,
  );
const side = 'f -> {a b}; {a b} -> j -> c -> exit;';
const listed = (list: string, ofA = 'prompt="Fix ${item}"') =>
  forked('f -> a -> j -> b -> c -> exit', `, ${list}`, ofA);
const gated = (target: string) => `label=a, goal_gate=true, retry_target=${target}`;

type Row = readonly [code: string, pipeline: string, under: string];
const bad: readonly Row[] = [
  ['branch-join', forked('f -> {a b} -> exit; c -> j -> exit'), 'f'],
  ['branch-join', forked(''), 'f'],
  ['branch-join', forked(`${side} f -> j`), 'f -> j'],
  ['branch-join', forked(`${side} a -> g -> {d e} -> j; g [shape=component]`), 'g'],
  ['branch-edge', forked(`${side} a -> exit [condition="outcome=fail"]`), 'a -> exit'],
  ['branch-edge', forked(`${side} a -> b [condition="outcome=fail"]`), 'a -> b'],
  ['branch-edge', forked(`${side} a -> f [condition="outcome=fail"]`), 'a -> f'],
  ['branch-edge', forked(`${side} a -> c [condition="outcome=fail", loop_restart=true]`), 'a -> c'],
  ['branch-edge', forked(`${side} c -> a [condition="outcome=fail", loop_restart=true]`), 'c -> a'],
  ['branch-edge', forked(`${side} j -> b [condition="outcome=fail"]`), 'j -> b'],
  ['branch-edge', forked(`${side} f -> f`), 'f -> f'],
  ['branch-edge', forked(`${side} f -> exit`), 'f -> exit'],
  ['branch-edge', forked(`${side} f -> d; d -> e`), 'f -> d'],
  ['join-alone', forked('f -> {a b} -> c -> j -> exit'), 'j'],
  ['join-alone', forked('f -> {a b}; a -> j -> c -> exit; b -> c'), 'j'],
  ['join-alone', around('shape=tripleoctagon'), 'a'],
  ['join-alone', around('type=parallel.fan_in'), 'a'],
  ['join-alone', forked('f -> {a b}; {a b} -> j -> exit').replace('shape=component', 'label=f'), 'j'],
  ['branch-retry', forked(side, '', gated('c')), 'c'],
  ['branch-retry', forked(side, '', gated('b')), 'b'],
  ['branch-retry', forked(side).replace('c [label=c', 'c [goal_gate=true, fallback_retry_target=a'), 'a'],
  ['branch-retry', forked(side).replace('f [', 'retry_target=a; c [goal_gate=true]; f ['), 'a'],
  ['branch-access', forked(side, '', 'shape=parallelogram, access=run, tool_command=ls'), 'run'],
  [
    'branch-access',
    forked(side, '', 'shape=parallelogram, tool_command="factory  order next"'),
    '"factory  order next"',
  ],
  ['for-each', listed('for_each=items'), 'items'],
  ['for-each', listed('for_each="$context.items"'), '"$context.items"'],
  ['for-each', listed('for_each="${ctx.l}", foreach_key=l'), 'l'],
  ['for-each', listed('item_key=file'), 'file'],
  ['for-each', listed('for_each="${ctx.l}"', 'prompt=x, "codex.workdir"="${item}"'), '"${item}"'],
  ['for-each', forked(side, ', for_each="${ctx.l}"'), '"${ctx.l}"'],
  [
    'for-each',
    forked('f -> a [condition="x=1"]; a -> j -> b -> c -> exit', ', for_each="${ctx.l}"'),
    '"${ctx.l}"',
  ],
  ['unknown-reference', listed('for_each="${var.l}"'), '${var.l}'],
  [
    'unknown-reference',
    listed('for_each="${ctx.l}"').replace('b [label=b', 'b [prompt="${item}"'),
    '${item}',
  ],
  [
    'quoted-reference',
    listed('for_each="${ctx.l}"', 'shape=parallelogram, tool_command="cat \'${item}\'"'),
    '${item}',
  ],
  ['wait-duration', around('shape=insulator'), 'a'],
  ['join-count', joinOf('join_policy=k_of_n'), 'k_of_n'],
  ['join-count', joinOf('join_policy=k_of_n, join_k=3'), '3'],
  ['join-count', joinOf('label=f', ', join_policy=K_OF_N'), 'K_OF_N'],
  ['attribute-value', joinOf('join_policy=some'), 'some'],
  ['attribute-value', joinOf('quorum_fraction=1.5'), '1.5'],
  [
    'unset-key',
    edge('condition="context.parallel.results.a.outcome=success"'),
    'context.parallel.results.a.outcome',
  ],
  ['gate-options', gate(''), 'ask'],
  ['gate-yes-no', gate('ask -> exit', 'mode=yes_no'), 'yes_no'],
  ['gate-default', gate('ask -> exit [label=Go]', 'human.default_choice=later'), 'later'],
  ['gate-default', gate('ask -> exit [label=Go]; ask -> b [label=go]; b -> exit', 'default_choice=GO'), 'GO'],
  ['gate-default', gate('ask -> exit [label=Go]', 'timeout_action=default'), 'default'],
  ['gate-text', gate('ask -> exit [label=x]; ask -> b [label=y]; b -> exit', 'mode=freeform'), 'freeform'],
  ['attribute-value', gate('ask -> exit', 'human_timeout_seconds=soon'), 'soon'],
  ['attribute-value', gate('ask -> exit', 'mode=maybe'), 'maybe'],
  ['attribute-kind', around('timeout_action=fail'), 'timeout_action'],
  ['attribute-value', gate('ask -> exit [freeform=perhaps]'), 'perhaps'],
  ['reserved-id', gate('ask -> answers; answers [label=x]; answers -> exit'), 'answers'],
  ['unknown-outcome', gate('ask -> exit [label=Approve, condition="outcome=aprove"]'), 'aprove'],
  ['unset-key', edge('condition="human.gate.selected=A"'), 'human.gate.selected'],
  ['unset-key', gate('ask -> exit [condition="context.human.gate.choice=A"]'), 'context.human.gate.choice'],
  ['unknown-reference', gate('ask -> exit', 'question="${var.x}?"'), '${var.x}'],
  [
    'edge-never-taken',
    gate('ask -> exit [label=Go]; ask -> c [condition="preferred_label=Stop"]; c [label=x]; c -> exit'),
    'ask -> c',
  ],
  [
    'outcome-uncovered',
    gate('ask -> exit [label=Go]; ask -> b [condition="preferred_label=Go"]; b -> exit', 'human.timeout=1h'),
    'ask',
  ],
  ['start-count', whole('a [label=a]; b [label=b]; exit [shape=Msquare]; a -> exit; b -> exit'), 'G'],
  ['start-count', whole('a [label=a]; exit [shape=Msquare]; a -> exit'), 'a'],
  ['start-count', whole('start [shape=diamond]; exit [shape=Msquare]; start -> exit'), 'diamond'],
  ['start-count', whole(`${ends} b [shape=Mdiamond]; start -> exit; b -> exit`), 'b'],
  ['exit-missing', whole('start; a [label=a]; start -> a; a -> a'), 'G'],
  ['exit-missing', whole('start; a; start -> a'), 'a'],
  ['start-incoming', whole(`${ends} a [label=a]; start -> a -> exit; a -> start`), 'a -> start'],
  ['exit-outgoing', whole(`${ends} a [label=a]; start -> a -> exit; exit -> a`), 'exit -> a'],
  ['unreachable', whole(`${ends} orphan [label=x]; start -> exit`), 'orphan'],
  ['unreachable', whole(`${ends} ghost -> exit; start -> exit`), 'ghost'],
  ['unknown-type', around('type=codegen'), 'codegen'],
  ['unknown-shape', around('shape=ellipse'), 'ellipse'],
  [
    'reserved-id',
    whole(`${ends} ${'n'.repeat(201)} [label=x]; start -> ${'n'.repeat(201)} -> exit`),
    'n'.repeat(201),
  ],
  ['reserved-id', whole(`${ends} workspace [label=x]; start -> workspace -> exit`), 'workspace'],
  ['attribute-value', around('max_retries=-1'), '-1'],
  ['attribute-value', around('max_retries="two"'), '"two"'],
  ['attribute-value', around('max_retries=1.5'), '1.5'],
  ['attribute-value', around('timeout=soon'), 'soon'],
  ['attribute-value', around('goal_gate=yes'), 'yes'],
  ['unknown-reference', around('prompt="{{ inputs.tpic }}"', 'inputs=topic;'), '{{ inputs.tpic }}'],
  ['vars-syntax', around('', 'inputs="a.md";'), 'a.md'],
  [
    'quoted-reference',
    around('shape=parallelogram, script="echo \'{{ inputs.x }}\'"', 'inputs=x;'),
    '{{ inputs.x }}',
  ],
  ['attribute-value', around('max_visits=0'), '0'],
  ['attribute-value', around('allowed_write_paths="src/,/etc"'), '"src/,/etc"'],
  ['attribute-value', around('allowed_write_paths="a/../b"'), '"a/../b"'],
  ['attribute-value', around('allowed_write_paths="a,,b"'), '"a,,b"'],
  ['attribute-value', around('', 'env_pass="A_KEY B_TOKEN";'), '"A_KEY B_TOKEN"'],
  ['attribute-value', around('', 'env_pass="A_KEY, $B_TOKEN";'), '"A_KEY, $B_TOKEN"'],
  ['attribute-value', around('', 'env_pass="AWS_*";'), '"AWS_*"'],
  ['attribute-value', around('', 'secrets="LOGIN LICENSE";'), '"LOGIN LICENSE"'],
  ['attribute-value', around('', 'secrets="*";'), '"*"'],
  ['attribute-value', edge('weight=heavy'), 'heavy'],
  ['attribute-value', around('', 'max_steps=-5;'), '-5'],
  ['attribute-value', around('', 'graph [default_timeout="x"];'), '"x"'],
  ['attribute-value', around('', 'network=maybe;'), 'maybe'],
  ['tool-command', around('shape=parallelogram'), 'a'],
  ['verification-commands', around('type=verification'), 'a'],
  ['sets-plan', planned(''), 'a'],
  ['condition-syntax', edge('condition="outcome=success and x=1"'), 'and'],
  ['condition-syntax', edge('condition="a=\\"x\\" && b=="'), '=='],
  ['condition-syntax', edge('condition="a=1 &&" + " b c=1"'), 'c'],
  ['condition-syntax', edge('condition="outcome="'), '='],
  ['condition-syntax', edge('condition=outcome==success'), '=='],
  ['unknown-outcome', whole(`${ends} start -> exit [condition="outcome=done"]`), 'done'],
  ['unknown-outcome', edge('condition="context.x=\\"a\\" || !outcome != \\"sucess\\""'), '\\"sucess\\"'],
  ['unknown-outcome', edge('condition="outcome=sucess"'), 'sucess'],
  ['condition-key', edge('condition="x=1 || Outcome=fail"'), 'Outcome'],
  ['condition-key', edge('condition="x=1 && fail"'), 'fail'],
  ['unknown-class', edge('condition="outcome=fail && failure_class=produkt"'), 'produkt'],
  ['unknown-class', edge('condition="failure_class!=\\"bug\\""'), '\\"bug\\"'],
  ['masked-failure', tool('npm test | tee log'), 'npm test'],
  ['masked-failure', tool('cd app\nnpm test\necho done'), 'npm test'],
  ['masked-failure', tool('npm test | tee log', 'shell="bash -e"'), 'npm test'],
  ['bare-prefix', checked('npm, go test'), '"npm, go test"'],
  ['bare-prefix', checked('bash'), '"bash"'],
  ['bare-prefix', checked('python3 -m'), '"python3 -m"'],
  ['bare-prefix', checked('npm exec'), '"npm exec"'],
  ['plan-missing', around('type=verification, "verification.allowed_commands"=ls'), 'a'],
  ['plan-missing', checked('@plan'), 'v'],
  ['shell-variable', around('shape=parallelogram, tool_command="echo ${x}"', 'vars="x=1";'), '${x}'],
  ['shell-variable', around('shape=parallelogram, tool_command="echo $x.txt"', 'vars="x=1";'), '$x'],
  ['shell-variable', around('prompt="Fix {{ var.x }} now"', 'vars="x=1";'), '{{ var.x }}'],
  ['shell-variable', around('prompt="Fix ${vars.x} now"', 'vars="x=1";'), '${vars.x}'],
  ['shell-variable', around('prompt="It was ${start.outcome}"'), '${start.outcome}'],
  ['workdir-missing', around('', 'workdir=nowhere;'), 'nowhere'],
  ['prompt-file-missing', around('prompt_file="gone.md"'), '"gone.md"'],
  ['condition-key', edge('condition="!failure_clas"'), 'failure_clas'],
  ['condition-key', edge('condition="ctx.n<3"'), 'ctx.n'],
  ['holdout-access', around('prompt=x, access=run', 'holdout="judge/";'), 'run'],
  ['holdout-access', around('prompt=x, access="run:ro"', 'holdout="judge/";'), '"run:ro"'],
  [
    'unknown-outcome',
    whole(
      `${ends} d [shape=diamond]; a [prompt=x, response_file=y]; start -> a -> d; d -> exit [condition="outcome=approve"]`,
    ),
    'approve',
  ],
  ['unset-key', edge('condition="exit_code!=1"'), 'exit_code'],
  ['unset-key', edge('condition="outcome=success && context.test.output contains x"'), 'context.test.output'],
  ['unset-key', edge('condition="build.outcome!=success"'), 'build.outcome'],
  ['unset-key', edge('condition="last_failure.clas=infra"'), 'last_failure.clas'],
  ['unset-key', edge('condition="tool.output contains x"'), 'tool.output'],
  ['unset-key', whole(`${ends} start -> exit [condition="x=1"]`), 'x'],
  ['unset-key', set('echo n; exit 1', 'n=1'), 'n'],
  ['target-missing', around('goal_gate=true, retry_target=nowhere'), 'nowhere'],
  ['target-missing', around('fallback_retry_target="nowhere"'), '"nowhere"'],
  ['target-missing', around('required_tool_node=nowhere'), 'nowhere'],
  ['target-missing', around('', 'retry_target=nowhere;'), 'nowhere'],
  ['vars-syntax', around('', 'vars="a=1, 1b";'), '1b'],
  ['thread-holdout', talking('fidelity=full, thread_id=t', 'fidelity=full, thread_id=t'), 't'],
  ['thread-holdout', talking('', 'fidelity=full'), 'full'],
  ['thread-holdout', talking('', '', 'default_fidelity=full; default_thread=g;'), 'b'],
  ['thread-holdout', chosen('d'), 'full'],
  ['holdout-beside', around('', 'vars="spec=@x.md"; holdout_beside="spce";'), '"spce"'],
  ['holdout-beside', around('', 'vars="spec=x.md"; holdout_beside=spec;'), 'spec'],
  ['holdout', around('', 'holdout="judge/, .git/hooks";'), '"judge/, .git/hooks"'],
  ['holdout', around('', 'holdout="./";'), '"./"'],
  ['unknown-reference', around('prompt="say ${var.nope} now"'), '${var.nope}'],
  [
    'unknown-reference',
    around('prompt="line\\n\\"${var.specs}\\"', 'vars="spec=1";').replace('\\"]', '\\""]'),
    '${var.specs}',
  ],
  ['unknown-reference', around('shape=parallelogram, tool_command="cat ${var.nope}"'), '${var.nope}'],
  ['unknown-reference', around('prompt="${node.nowhere.x}"'), '${node.nowhere.x}'],
  ['unknown-reference', around('prompt="${node.start.outcom}"'), '${node.start.outcom}'],
  ['unknown-reference', around('prompt="${goal}"'), '${goal}'],
  ['refused-command', around('shape=parallelogram, tool_command="cat ../x"'), '"cat ../x"'],
  ['refused-command', around('shape=parallelogram, sandbox=none, tool_command="cat ~/x"'), '"cat ~/x"'],
  ['refused-command', around('shape=parallelogram, tool_command="cat ~/../x"'), '"cat ~/../x"'],
  ['needs-sandbox', around('shape=parallelogram, tool_command="make >/tmp/a"'), '"make >/tmp/a"'],
  ['needs-sandbox', around('shape=parallelogram, tool_command="ls $HOME/.cargo"'), '"ls $HOME/.cargo"'],
  [
    'needs-sandbox',
    around('type=verification, "verification.allowed_commands"="test -f /tmp/x"'),
    '"test -f /tmp/x"',
  ],
  [
    'refused-command',
    around('type=verification, "verification.allowed_commands"="npm test, go test | tee x"'),
    '"npm test, go test | tee x"',
  ],
  ['strength-budget', judging('strength=60, strength_budget=20m, timeout="1200"'), '20m'],
  ['strength-budget', judging('strength=60, timeout=10m'), '10m'],
  ['strength-budget', judging('', 'min_strength=0.9; default_timeout=5m;'), '0.9'],
  ['strength-budget', judging('min_strength=0.5', 'strength_budget=1h;'), '1h'],
  ['strength-unmeasured', around('shape=parallelogram, tool_command="sh test.sh", strength=60'), '60'],
  ['strength-unmeasured', around('prompt=x, min_strength=0.8'), '0.8'],
  [
    'strength-unmeasured',
    around('shape=parallelogram, tool_command="factory scenario selftest s --app .", min_strength=0.8'),
    '0.8',
  ],
  ['strength-unmeasured', around('prompt=x', 'min_strength=0.8;'), '0.8'],
  ['strength-unmeasured', judging('min_strength=0.8, strength=30'), '30'],
  ['strength-unmeasured', judging('sandbox=none', 'min_strength=0.8;'), '0.8'],
  ['quoted-reference', around('shape=parallelogram, tool_command="cat \'${ctx.x}\'"'), '${ctx.x}'],
  ['quoted-reference', around('shape=parallelogram, tool_command="cat \\"$goal\\""', 'goal=g;'), '$goal'],
  ['undeclared-node', whole(`${ends} start -> b -> exit; b [label=b]; start -> c -> exit`), 'c'],
  ['empty-prompt', whole(`${ends} a; start -> a -> exit`), 'a'],
  ['attribute-kind', around('tool_command="x"'), 'tool_command'],
  ['attribute-kind', around('type=verification, "verification.allowed_commands"=ls, prompt=x'), 'prompt'],
  ['attribute-kind', around('', 'max_visits=9;'), 'max_visits'],
  ['attribute-kind', around('', 'agent=codex;'), 'agent'],
  ['attribute-kind', around('', 'llm_model=m;'), 'llm_model'],
  ['attribute-kind', edge('label=x').replace('[label=x]', 'condition="outcome=fail"'), 'condition'],
  ['attribute-kind', edge('max_retries=1'), 'max_retries'],
  ['attribute-kind', around('secrets=A_LOGIN'), 'secrets'],
  ['attribute-kind', around('condition="outcome=fail"'), 'condition'],
  ['attribute-kind', around('').replace('a [label=a, ]', 'a [label=a] { prompt="x" }'), 'prompt'],
  ['attribute-kind', around('', 'subgraph { label=l; graph [goal=g, color=red]; }'), 'goal'],
  ['unknown-attribute', around('max_retris=1'), 'max_retris'],
  ['unknown-attribute', around('max-retries=1'), 'max-retries'],
  ['unknown-attribute', around('tool_comand="x"'), 'tool_comand'],
  ['unknown-attribute', edge('conditon="x"'), 'conditon'],
  ['unknown-attribute', around('zork=1'), 'zork'],
  ['no-effect', around('context_keys=t'), 'context_keys'],
  ['attribute-value', around('fidelity=sumary:low'), 'sumary:low'],
  ['attribute-value', edge('fidelity=ful'), 'ful'],
  ['attribute-kind', around('', 'fidelity=full;'), 'fidelity'],
  ['stylesheet-syntax', around('', 'model_stylesheet="* { model=x; }";'), 'model=x'],
  ['stylesheet-syntax', around('', 'model_stylesheet="\n\t.a .b " + "{ }";'), '.a .b'],
  ['stylesheet-syntax', around('', 'model_stylesheet="* { model: \\"x\\"; ";'), '{'],
  ['stylesheet-property', around('', 'model_stylesheet="* { modle: x; }";'), 'modle'],
  ['stylesheet-value', around('', 'model_stylesheet="* { reasoning_effort: hgih; }";'), 'hgih'],
  ['stylesheet-value', around('', 'model_stylesheet="* { max_cost_usd: \\"-1\\"; }";'), '\\"-1\\"'],
  ['provider-unserved', around('llm_provider=gemni'), 'gemni'],
  ['provider-unserved', around('', 'model_stylesheet=".x, #a { provider: kimi; }";'), 'kimi'],
  ['no-effect', edge('temperature=2'), 'temperature'],
  ['no-effect', around('"manager.actions"=observe'), '"manager.actions"'],
  [
    'no-effect',
    around('shape=house, child_graph="x.dot", manager.poll_interval=45s'),
    'manager.poll_interval',
  ],
  ['attribute-kind', around('"manager.max_cycles"=3'), '"manager.max_cycles"'],
  ['unknown-attribute', around('var.x=1'), 'var.x'],
  ['subgraph-file', around('type=subgraph'), 'a'],
  ['manager-file', around('shape=house, child_graph="x.dot", stack.child_dotfile="y.dot"'), 'child_graph'],
  ['manager-stop', around('shape=house, child_graph="x.dot", manager.stop_condition="a = = b"'), '"a = = b"'],
  ['call-file', around('type=subgraph, graph_ref="gone.dot"'), '"gone.dot"'],
  ['call-nesting', around('shape=house, child_graph="itself.dot"'), '"itself.dot"'],
  ['call-input', around('type=subgraph, graph_ref="x.dot", var.diff=1, var.nope=1'), 'var.nope'],
  ['call-input', around('type=subgraph, graph_ref="x.dot"'), '"x.dot"'],
  ['call-return', around('type=subgraph, graph_ref="x.dot", returns=nope'), 'nope'],
  [
    'call-guard',
    around('type=subgraph, graph_ref="x.dot", var.diff=1, allowed_write_paths="src/"'),
    'allowed_write_paths',
  ],
  [
    'call-guard',
    around('shape=house, stack.child_dotfile="x.dot", var.diff=1, requires_tool_success=true'),
    'requires_tool_success',
  ],
  ['call-setting', around('comment="called by another"', 'holdout="judge/";'), 'holdout'],
  ['duplicate-node', around('', 'a [prompt=x];'), 'a'],
  ['undeclared-node', whole(`${ends} build [label=x]; start -> biuld; build -> exit`), 'biuld'],
  ['unknown-attribute', around('', 'default_max_visit=3;'), 'default_max_visit'],
  ['gate-without-retry', around('goal_gate=true'), 'goal_gate'],
  ['outcome-not-asked', tested('agent="codex,command", prompt=x'), 'a'],
  ['outcome-not-asked', tested('command.run=x, prompt="do it"'), 'command.run'],
  [
    'outcome-not-asked',
    tested('agent=command, prompt=x', 'a -> d; d -> exit [condition="outcome=fail"];'),
    'a',
  ],
  ['not-graphviz', around('timeout=30s, prompt=x'), '30s'],
  ...runs([
    [
      'edge-never-taken',
      'a -> exit; a -> b [condition="outcome=success && outcome=fail"]; b -> exit',
      'a -> b',
    ],
    ['edge-never-taken', 'a -> exit; a -> b [condition="context.x=1 && x=2"]; b -> exit', 'a -> b'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="n<3 && n>5"]; b -> exit', 'a -> b'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="outcome=retry"]; b -> exit', 'a -> b'],
    ['edge-never-taken', 'a -> v; v -> b [condition="outcome=skipped"]; v -> exit; b -> exit', 'v -> b'],
    [
      'edge-never-taken',
      'a -> d [condition="outcome=success"]; a -> exit; d -> b [condition="outcome=fail"]; d -> exit; b -> exit',
      'd -> b',
    ],
    [
      'edge-never-taken',
      'a -> b [condition="outcome=fail"]; a -> exit [condition="outcome=fail", weight=1]; a -> exit; b -> exit',
      'a -> b',
    ],
    [
      'edge-never-taken',
      'a -> b [condition="outcome=success"]; a -> exit [condition="outcome!=success"]; a -> v; b -> exit; v -> exit',
      'a -> v',
    ],
    ['edge-never-taken', 'a -> v; v -> b; v -> exit; b -> exit', 'v -> exit'],
    ['restart-exit', 'a -> exit [loop_restart=true]', 'loop_restart'],
    ['edge-never-taken', 'start -> b; b -> exit; a -> exit', 'start -> b'],
    ['endless-cycle', 'a -> b -> a; b -> exit [condition="outcome=retry"]', 'b -> a'],
    ['endless-cycle', 'a -> v -> d; d -> v [weight=1]; d -> exit', 'd -> v'],
    ['outcome-uncovered', 'a -> exit [condition="outcome=success"]', 'a'],
    ['outcome-uncovered', 'a -> exit [condition="outcome=success"]; a -> b; b -> exit', 'a'],
    [
      'outcome-uncovered',
      'a -> exit; a -> b [condition="outcome=fail"]; b [shape=parallelogram, tool_command=x]',
      'b',
    ],
    ['outcome-uncovered', 'a -> d; d -> exit [condition="outcome=success"]', 'd'],
    [
      'outcome-uncovered',
      'a -> exit [condition="outcome=success"]; a -> b [condition="outcome=fail"]; a [allow_partial=true]; b -> exit',
      'a',
    ],
    ['failure-to-success', 'a -> b -> exit', 'a -> b'],
    ['failure-to-success', 'a -> d -> b -> exit; b -> fix [condition="outcome=fail"]; fix -> exit', 'd -> b'],
  ]),
];

test.for(bad)('%s is found in %s under %s', ([code, pipeline, under]) => {
  expect(told(pipeline)).toContainEqual([code, under]);
});

const good: readonly (readonly [code: string, pipeline: string])[] = [
  ['wait-duration', around('shape=insulator, duration=10m')],
  ['join-count', joinOf('join_policy=k_of_n, k=2')],
  ['start-count', whole('start; exit; start -> exit')],
  ['start-count', whole('begin [type=start]; end; begin -> end')],
  ['exit-missing', whole('start; done [type=exit]; start -> done')],
  ...['branch-join', 'branch-edge', 'join-alone', 'branch-retry', 'branch-access', 'for-each'].flatMap(
    (code) =>
      [
        forked(side),
        forked('f -> {a b} -> c -> j -> exit').replace('tripleoctagon', 'box, label=j'),
        forked(
          `${side} a -> a [condition="outcome=fail", loop_restart=true]; c -> f [condition="outcome=fail", loop_restart=true]`,
        ),
        forked(side, '', gated('a')),
        forked(side, '', 'label=a, goal_gate=true').replace('f [', 'retry_target=c; f ['),
        forked(side, '', 'shape=parallelogram, access="run:ro", tool_command="factory order status"'),
        forked(side).replace(
          'c [label=c',
          'c [shape=parallelogram, access=run, tool_command="factory order next"',
        ),
        listed('for_each="${ctx.l}", item_key=file'),
        listed('foreach_key=l'),
        listed(
          'for_each="[\\"a\\", \\"b\\"]"',
          'shape=parallelogram, tool_command="cat ${item} > ${index}", allowed_write_paths="${index}"',
        ),
      ].map((pipeline) => [code, pipeline] as const),
  ),
  ['unknown-reference', around('prompt="${item} ${index}"')],
  [
    'quoted-reference',
    around('shape=parallelogram, tool_command="for item in a; do cat \\"${item}\\"; done"'),
  ],
  ['start-incoming', around('')],
  ['exit-outgoing', around('')],
  ['unreachable', whole(`${ends} a [label=a, retry_target=b]; b [label=b]; start -> a -> exit; b -> exit`)],
  ['unknown-type', around('type=codergen')],
  ['unknown-type', around('type=""')],
  ['unknown-shape', around('shape=ellipse, type=codergen')],
  ['unknown-shape', around('shape=diamond')],
  ...['call-file', 'call-nesting', 'call-input', 'call-return', 'no-effect', 'unknown-attribute'].map(
    (code) =>
      [
        code,
        around('type=subgraph, graph_ref="x.dot", var.diff=1, stack.child.var.lens=2, returns=verdict'),
      ] as const,
  ),
  ['call-setting', around('', 'holdout="judge/";')],
  [
    'call-guard',
    around(
      'type=subgraph, graph_ref="x.dot", var.diff=1, goal_gate=true, max_visits=2',
      'node [allowed_write_paths="src/", label=x];',
    ),
  ],
  ['call-setting', around('comment="called by another"', 'goal=g; default_max_visits=3;')],
  ['reserved-id', whole(`${ends} ${'n'.repeat(200)} [label=x]; start -> ${'n'.repeat(200)} -> exit`)],
  ['reserved-id', whole(`${ends} workspaces [label=x]; start -> workspaces -> exit`)],
  [
    'attribute-value',
    around('max_retries="2", timeout=30, goal_gate="true", allowed_write_paths="src/, a b.txt"'),
  ],
  ['attribute-value', around('max_retries="", timeout=" "')],
  ['attribute-value', edge('weight="-3"')],
  ['attribute-value', around('', 'env_pass="A_KEY, my-app.token";')],
  ['attribute-value', around('', 'env_pass="*"; secrets="LOGIN, my-app.license";')],
  ['tool-command', around('shape=parallelogram, tool_command="true"')],
  ['sets-plan', planned('sets_plan=true, ')],
  ['sets-plan', planned('').replace('FACTORY_OUTPUT', 'OTHER')],
  ['verification', around('type=verification, verification.allowed_commands="go test"')],
  ['condition-syntax', edge('condition="outcome=success && !(a.b contains \\"x y\\" || n>=5)"')],
  ['condition-syntax', edge('condition="  "')],
  ['unknown-class', edge('condition="failure_class=timeout || failure_class=\\"\\" || context.x=produkt"')],
  ['masked-failure', tool('cd src; make test')],
  ['masked-failure', tool('npm test | tee log', 'shell="bash -eo pipefail"')],
  ['masked-failure', tool('set -e; npm test; npm run lint')],
  ['masked-failure', `digraph G { shell="bash -eo pipefail"; ${tool('npm test | tee log').slice(11)}`],
  [
    'masked-failure',
    tool('npm test | tee log')
      .replace('[condition="outcome=success"]', '')
      .replace('Msquare', 'Msquare, outcome=fail'),
  ],
  ['bare-prefix', checked('npm test, =bash, python3 -m pytest, node --test, sh test.sh, git, make')],
  ['plan-missing', checked('ls')],
  [
    'plan-missing',
    checked('@plan').replace('label=a', 'shape=parallelogram, tool_command="echo x > $FACTORY_OUTPUT"'),
  ],
  [
    'shell-variable',
    around(
      'shape=parallelogram, tool_command="x=2; echo ${x} ${HOME} ${y:-1} ${var.z} \'$z\'; for y in 1; do echo $y; done"',
      'vars="x=1, y=1, z=1";',
    ),
  ],
  ['shell-variable', around('prompt="costs $x, ${HOME}, {{ y }}"', 'vars="x=1";')],
  ['workdir-missing', around('', 'workdir=app;')],
  [
    'prompt-file-missing',
    around('prompt_file="gone.md"').replace('start -> a', 'w [response_file="gone.md"]; start -> w -> a'),
  ],
  ['prompt-file-missing', around('prompt_file="there.md"')],
  ['condition-key', edge('condition="context.outcome=x && came && context.ctx.x=1 && outcome_of_tests=1"')],
  ['reserved-id', whole(`${ends} answers [label=x]; start -> answers -> exit`)],
  ['unknown-outcome', gate('ask -> exit [label="[A] Approve", condition="outcome=approve"]; ask -> exit')],
  ['unset-key', gate('ask -> exit [condition="human.gate.selected=A && human_response=x"]; ask -> exit')],
  ['no-effect', gate('ask -> exit [freeform=true]', 'question=x, human.timeout=1h, default_choice=exit')],
  ['gate-yes-no', gate('ask -> exit [label=Yes]; ask -> b [label=No]; b -> exit', 'mode=yes_no')],
  ['gate-default', gate('ask -> exit', 'default_choice=exit, timeout=15m, timeout_action=default')],
  ['gate-text', gate('ask -> exit [label=x]; ask -> b; b -> exit', 'mode=freeform')],
  ['edge-never-taken', gate('ask -> exit [label=Go, condition="preferred_label=go"]; ask -> b; b -> exit')],
  ['outcome-uncovered', gate('ask -> exit [condition="outcome=success"]')],
  ['unknown-outcome', edge('condition="outcome=pass || outcome=skipped || context.outcome=any"')],
  ['target-missing', around('goal_gate=true, retry_target=a, required_tool_node=" "')],
  ['condition-key', edge('condition="context.failure_class=infra"')],
  ...['agent', 'codergen.acp', 'stack.observe', 'stack.steer', 'prompt'].map(
    (type) => ['unknown-type', around(`type="${type}"`)] as const,
  ),
  ['unknown-type', around('type=command, script=ls')],
  ['unknown-shape', around('shape=tab')],
  ['attribute-value', around('goal_gate="all tests pass", retry_target=a, max_visits=2.0')],
  [
    'unknown-outcome',
    edge('condition="outcome=approve"').replace('label=a', 'prompt=x, response_file=y, agent=command'),
  ],
  ['unset-key', edge('condition="outcome=fail && context.preferred_label=x && context.failure_class=infra"')],
  ['unset-key', edge('condition="last_failure.hopeless!=true && graph.goal=x && internal.retry_count.a>2"')],
  [
    'unset-key',
    edge('condition="tests.state=red"').replace('label=a', 'prompt="Set tests.state to red or green."'),
  ],
  ['unset-key', set(`echo '{\\"context_updates\\":{\\"n\\":3}}' > $FACTORY_OUTPUT`, 'context.n<3')],
  ['unset-key', set('factory order next', 'order.stage=exception')],
  ['unset-key', set('true', 'tool.output contains x || tool_stdout contains y')],
  ['vars-syntax', around('', 'vars="a=1, b=@x.md, c"; inputs="d, e";')],
  ['unknown-reference', around('prompt="{{ inputs.x }} {{ goal }} $context.y $z {{ w }}"')],
  ['unknown-reference', around('prompt="{{ inputs.x }}"', 'inputs=x;')],
  ['unknown-outcome', edge('condition="outcome=has_dod || outcome=SUCCESS"')],
  ['holdout-beside', around('', 'vars="a=1, b=@x.md"; holdout_beside=b;')],
  ['thread-holdout', talking('fidelity=full, thread_id=t', 'fidelity=full, thread_id=u')],
  ['thread-holdout', talking('fidelity=full', 'fidelity=compact')],
  ['thread-holdout', chosen('exit')],
  ['thread-holdout', talking('thread_id=t', 'thread_id=t, fidelity=full')],
  ['holdout-access', around('prompt=x, access=run')],
  ['holdout-access', around('shape=parallelogram, tool_command="true", access=run', 'holdout="judge/";')],
  ['holdout', around('', 'holdout="judge/, tests/a.sh"; holdout_from="../judge";')],
  ['unknown-attribute', around('shape=parallelogram, tool_command=true, sees_holdout=true')],
  [
    'unknown-reference',
    around(
      'prompt="$goal ${goal} ${var.x} ${ctx.any} ${node.start.visits} ${HOME} $${var.z}"',
      'goal=g; vars="x=1";',
    ),
  ],
  ['unknown-reference', around('prompt="$goal"')],
  // These problems are reported for `vars`.
  ['unknown-reference', around('prompt="${var.a} ${var.b}"', 'vars="a, b=x";')],
  ['holdout-beside', around('', 'vars="spec=@"; holdout_beside=spec;')],
  // These are never expanded.
  ['unknown-reference', around('shape=parallelogram, tool_command=true, comment="uses ${var.nope}"')],
  ['unknown-reference', around('prompt="the words ${var.nope}", prompt_expand=false')],
  ['refused-command', around('shape=parallelogram, tool_command="cat /x ${ctx.x} >/dev/stderr"')],
  ['refused-command', around('shape=parallelogram, tool_command="cat ~/x > /tmp/y"')],
  ['strength-budget', judging('strength=60, strength_budget=20m')],
  ['strength-budget', around('shape=parallelogram, tool_command=true, timeout=1m', 'strength_budget=20m;')],
  ['strength-unmeasured', judging('strength=10')],
  ['strength-unmeasured', judging('', 'min_strength=0.8; node [strength=60];')],
  ['strength-unmeasured', judging('sandbox=none, isolation=auto, min_strength=1')],
  ['needs-sandbox', around('shape=parallelogram, tool_command="cat /etc/hosts > /tmp/y"')],
  ['needs-sandbox', around('shape=parallelogram, sandbox=none, tool_command="ls /tmp"')],
  ['refused-command', around('shape=parallelogram, tool_command="cd ${X:-/x}; cat \'a /b\' >/dev/stderr"')],
  ['refused-command', around('type=verification, "verification.allowed_commands"="@plan, grep"')],
  ['quoted-reference', around('shape=parallelogram, tool_command="echo \\"$(cat ${ctx.x})\\" \'$goal\'"')],
  ['undeclared-node', around('')],
  ['empty-prompt', around('')],
  ['empty-prompt', whole(`${ends} a [prompt_file="x.md"]; start -> a -> exit`)],
  [
    'unknown-attribute',
    around('color=red, fillcolor="#ff0000", fontname=x, penwidth=2, style=filled, _draw_=x'),
  ],
  ['no-effect', around('', 'class=c; edge [class=c];')],
  ['no-effect', around('class=cheap', 'model_stylesheet=".cheap { model: x; }";')],
  ['stylesheet-syntax', around('', 'model_stylesheet="/* { */ *, .a { model: \\"x\\" } #a{}";')],
  ['stylesheet-property', around('', 'model_stylesheet="* { model: x; provider: y; backend: codex; }";')],
  ['stylesheet-value', around('', 'model_stylesheet="* { fidelity: summary:low; max_cost_usd: 0.5; }";')],
  ['provider-unserved', around('llm_provider=Anthropic')],
  ['provider-unserved', around('llm_provider=google, agent=command')],
  ['provider-unserved', around('llm_provider=openai', 'model_stylesheet="* { provider: kimi; }";')],
  ['duplicate-node', whole(`${ends} a [label=x]; subgraph { rank=same; a } start -> a -> exit`)],
  ['attribute-kind', around('max_retries=1', 'node [tool_command="x"];')],
  [
    'attribute-kind',
    around('temperature=2, weight=2', 'temperature=2; edge [temperature=x]; subgraph { rank=same; x=y }'),
  ],
  ['unknown-attribute', around('', 'rankdir=LR; bgcolor=white; node [fontsize=10, tool_command="x"];')],
  ['gate-without-retry', around('goal_gate=true, retry_target=a')],
  ['outcome-not-asked', tested('agent=codex, prompt=x')],
  ['outcome-not-asked', tested('agent=command, prompt=x', 'a -> d; d -> exit;')],
  ['outcome-not-asked', tested('agent=command, prompt=x', 'a -> exit [condition="failure_class=agent"];')],
  ['outcome-not-asked', tested('agent=command, prompt=x, response_format=outcome')],
  ['outcome-not-asked', tested('agent=command, prompt=x, command.response_format=text')],
  ['outcome-not-asked', tested('agent=command, prompt=x, response_via=none')],
  ['outcome-not-asked', tested('agent=command, prompt=x, response_file=y')],
  ['outcome-not-asked', tested('agent=command, prompt="Say your outcome"')],
  ['not-graphviz', around('timeout="30s", "codex.workdir"=x, y=-1.5')],
  ['gate-without-retry', around('goal_gate=true', 'fallback_retry_target=a;')],
  ['gate-without-retry', around('goal_gate=false')],
  ...runs([
    ['edge-never-taken', 'a -> exit; a -> b; b -> exit'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="outcome=skipped"]; b -> exit'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="x=1"]; a -> v [condition="x=2"]; b -> exit; v -> b'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="x<5 && x>3"]; b -> exit'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="x matches \\"^v[0-9]\\""]; b -> exit'],
    ['edge-never-taken', 'a -> exit; a -> b [condition="failure_class=timeout"]; b -> exit'],
    ['edge-never-taken', 'a -> v -> exit; v -> b [condition="failure_class=scenario"]; b -> exit'],
    ['endless-cycle', 'a -> b [condition="outcome=fail"]; b -> a; a -> exit [condition="outcome=success"]'],
    ['endless-cycle', 'a -> b -> a; b -> exit [condition="outcome=retry"]; b [max_visits=3]'],
    ['endless-cycle', 'default_max_visits=9; a -> b -> a; b -> exit [condition="outcome=retry"]'],
    ['endless-cycle', 'a -> b -> exit; b [goal_gate=true, retry_target=a]'],
    ['endless-cycle', 'a -> b; b -> a [loop_restart=true]; b -> exit [condition="outcome=retry"]'],
    ['restart-exit', 'a -> b; b -> a [loop_restart=true]; b -> exit [condition="outcome=retry"]'],
    ['restart-exit', 'a -> exit [loop_restart=false]'],
    ['outcome-uncovered', 'a -> exit'],
    [
      'outcome-uncovered',
      'a -> exit [condition="outcome=success"]; a -> b [condition="outcome=fail"]; b -> exit',
    ],
    [
      'outcome-uncovered',
      'a -> exit [condition="preferred_label=x"]; a -> b [condition="preferred_label!=x"]; b -> exit',
    ],
    ['failure-to-success', 'a -> exit'],
    ['failure-to-success', 'a -> b -> exit; a [goal_gate=true, retry_target=a]'],
    ['failure-to-success', 'a -> v -> exit'],
    ['failure-to-success', 'a -> b -> exit; a -> b [loop_restart=true, weight=1]'],
    [
      'failure-to-success',
      'a -> d -> b -> exit; d -> exit [condition="x matches ^f.*t"]; d -> fix [condition="outcome=fail", weight=2]; fix -> a; b [goal_gate=true, retry_target=a]; fix [goal_gate=true, retry_target=a]',
    ],
    [
      'failure-to-success',
      'a -> b [condition="outcome=success"]; a -> fix [condition="outcome=fail"]; fix -> a; b -> exit',
    ],
    [
      'failure-to-success',
      'a -> d; d -> b [condition="outcome=success"]; d -> fix [condition="outcome=fail"]; fix -> a; b -> exit',
    ],
  ]).map(([code, pipeline]) => [code, pipeline] as const),
];

test.for(good)('%s is not found in %s', ([code, pipeline]) => {
  expect(found(pipeline).map((d) => d.code)).not.toContain(code);
});

test('every rule has a file of its name, a bad row and a good one', () => {
  const codes = readdirSync(new URL('../../src/lint/rules', import.meta.url)).map((name) =>
    name.replace(/\.ts$/, ''),
  );
  for (const rows of [bad, good]) expect(codes.filter((code) => !rows.some(([c]) => c === code))).toEqual([]);
});

test('syntax that Graphviz does not read is one hint, with the number of places and the first lines', () => {
  const nodes = Array.from({ length: 7 }, (_, i) => `n${i} [label=x, timeout=30s] # why`).join('\n');
  const pipeline = `digraph G {\nstart -> n0 -> n1 -> n2 -> n3 -> n4 -> n5 -> n6 -> exit\n${nodes}\nstart; exit }`;
  expect(found(pipeline).filter(({ code }) => code === 'not-graphviz')).toMatchObject([
    {
      severity: 'hint',
      message:
        'Graphviz cannot read this file, in 14 places (lines 3, 4, 5, 6, 7, …): names with dots and durations need quotes there; a comment after a statement begins with // there',
      fix: expect.stringContaining('factory fmt '),
    },
  ]);
});

test('a small pipeline has no findings', () => {
  expect(found(around('prompt="do it"'))).toEqual([]);
});

test('all findings are in the order of the text, misspelt words first, each once', () => {
  const text = whole(
    'node [max_retries=-1]; start; exit; a; b [type=tol]; exit -> b; start -> a -> b -> exit [condition="outcome=sucess"]',
  );
  expect(found(text).map((d) => d.code)).toEqual([
    'unknown-type',
    'unknown-outcome',
    'attribute-value',
    'empty-prompt',
    'exit-outgoing',
  ]);
});

test('an undeclared node whose id names its kind gives no warning', () => {
  expect(told(whole('start -> a -> end; a [label=a]'))).toEqual([]);
});

test('every problem of a list is reported, each once', () => {
  const messages = found(around('allowed_write_paths="../x,,/etc,/etc"')).map((d) => d.message);
  expect(messages).toEqual([
    'allowed_write_paths: "../x" contains ".."',
    'allowed_write_paths: "/etc" is absolute',
    'allowed_write_paths "../x,,/etc,/etc" has an empty entry',
  ]);
});

test.for([
  ['type=tol', 'tool'],
  ['type=exti', 'exit'],
])('%s names the nearest type', ([attrs, meant]) => {
  expect(found(around(attrs ?? ''))[0]?.fix).toBe(`write type=${meant}`);
});

test('an attribute of another kind gives a warning, also misspelt, but not as a default for all nodes', () => {
  expect(found(around('tool_comand="x"'))[0]?.message).toContain('the nearest is "tool_command"');
  const [warning] = found(around('tool_command="x"'));
  expect(warning).toMatchObject({ code: 'attribute-kind', severity: 'warning' });
  expect(warning?.message).toContain('no effect on "a", a codergen node');
  expect(warning?.fix).toContain('shape=parallelogram');
  expect(
    told(
      around('prompt=x', 'node [tool_command="x"];')
        .replace('a [', 'b [label=b]; a [')
        .replace('start -> a', 'start -> b -> a'),
    ).map(([code]) => code),
  ).not.toContain('attribute-kind');
});

test.for([
  [
    around('', 'max_visits=9;'),
    'max_visits has no effect on the graph: only a node reads it',
    'default_max_visits=…',
  ],
  [
    around('', '{ timeout=9s }'),
    'timeout has no effect on a subgraph: only a node reads it',
    'default_timeout=…',
  ],
  [around('', 'prompt=x;'), 'prompt has no effect on the graph: only a node reads it', 'node [prompt=…]'],
  [
    around('condition=x'),
    'condition has no effect on the node "a": only an edge reads it',
    'a -> b [condition=…]',
  ],
] as const)('%s: %s', ([pipeline, message, fix]) => {
  const [warning] = found(pipeline);
  expect(warning).toMatchObject({ severity: 'warning', message });
  expect(warning?.fix).toContain(fix);
});

test('a default for all nodes that only edges read is reported once', () => {
  const told = found(around('', 'node [condition="outcome=success"];'));
  expect(told.filter(({ code }) => code === 'attribute-kind').map(({ message }) => message)).toEqual([
    'condition has no effect on nodes: only an edge reads it',
  ]);
});

test.for([
  ['mds', []],
  ['gpt-x', ['model has no effect on the graph: only a node reads it']],
] as const)('model=%s on the graph: %j', ([model, messages]) => {
  expect(found(around('', `layout=neato; model="${model}";`)).map(({ message }) => message)).toEqual(
    messages,
  );
});

test('an unreachable node is called an orphan', () => {
  expect(found(whole(`${ends} x [label=x]; start -> exit`))[0]?.message).toContain('unreachable (orphan)');
});

test('an unknown type names the nearest known one', () => {
  expect(found(around('type=codegen'))[0]).toMatchObject({
    message: 'there is no node type "codegen"; the nearest is "codergen"',
    fix: 'write type=codergen',
    severity: 'error',
  });
});

test('an invalid value is reported with the attribute as the author wrote it and the expected form', () => {
  expect(found(around('max_node_visits=many'))[0]).toMatchObject({
    message: 'max_node_visits "many" is not a whole number',
    fix: 'max_node_visits takes a whole number of at least 1',
  });
});

test('an invalid value is not also reported as missing', () => {
  expect(
    found(around('type=verification, "verification.allowed_commands"="a,,b"')).map((d) => d.code),
  ).toEqual(['attribute-value']);
});

test('a value after a backslash is reported, and the text after it is checked', () => {
  const pipeline = around('shape=parallelogram, tool_command="echo \\\\$goal; echo \\"$goal\\""', 'goal=g;');
  expect(found(pipeline).map(({ message, fix }) => `${message}; ${fix}`)).toEqual([
    '$goal is after a backslash, but its value is quoted already; remove the backslash: a value is always one word',
    '$goal is inside quotes, but its value is quoted already; close the quotes before it: a value is always one word',
  ]);
});

test.for([
  [edge('condition="exit_code!=1"'), 'warning', 'an exit code other than 0 is outcome=fail'],
  [
    edge('condition="context.test.output contains x"'),
    'warning',
    'write {"context_updates": {"test.output": "…"}}',
  ],
  [edge('condition="start.outcome!=success"'), 'warning', 'write outcome on an edge that leaves "start"'],
  [edge('condition="last_failure.clas=infra"'), 'error', 'write last_failure.class'],
  [edge('condition="tool.output contains x"'), 'error', ''],
  [whole(`${ends} start -> exit [condition="x=1"]`), 'error', 'to $FACTORY_OUTPUT'],
  [whole(`${ends} start -> exit [condition="x"]; start -> exit`), 'warning', 'to $FACTORY_OUTPUT'],
] as const)('a key that nothing sets in %s is a finding of severity %s: %s', ([pipeline, severity, fix]) => {
  const one = found(pipeline).find(({ code }) => code === 'unset-key');
  expect(one).toMatchObject({ severity, fix: expect.stringContaining(fix) });
});

test('a key that several conditions ask for is one finding', () => {
  const pipeline = whole(
    `${ends} a [shape=parallelogram, tool_command=x]; b [prompt=x]; start -> a; a -> b [condition="n=1"]; a -> exit [condition="context.n!=1"]; b -> exit [condition="n=2"]`,
  );
  expect(found(pipeline).filter(({ code }) => code === 'unset-key')).toHaveLength(1);
});

test('a script that a tool calls and that writes its outcome with the key sets it', () => {
  const scripts = (text: string) => new Map([['sh set.sh', [text]]]);
  const codes = (text: string) =>
    findingsOf(set('sh set.sh', 'n=1'), { scripts: scripts(text) }).map(({ code }) => code);
  expect(codes(`echo '{"context_updates":{"n":1}}' > "$FACTORY_OUTPUT"`)).not.toContain('unset-key');
  expect(codes('n=1; echo $n')).toContain('unset-key');
});

test.for([
  ['prompt="Fix it"', false],
  ['prompt="Answer success, partial_success or fail"', true],
  ['prompt="Fix it", allow_partial=true', true],
  ['shape=parallelogram, tool_command="make"', false],
  [
    `shape=parallelogram, tool_command="echo '{\\"outcome\\":\\"partial_success\\"}' > $FACTORY_OUTPUT"`,
    true,
  ],
] as const)('a partial success of a node with %s is expected by authors: %s', ([attrs, is]) => {
  const pipeline = tested(
    attrs,
    'a -> exit [condition="outcome=success"]; a -> bad [condition="outcome=fail"]; bad [shape=Msquare, outcome=fail];',
  ).replace('d [shape=diamond]; ', '');
  const messages = found(pipeline).map(({ message }) => message);
  expect(messages.some((one) => one.includes('partial_success'))).toBe(is);
});

test('a word on the edges of a node that answers with a document is an error, with the tool that can give it', () => {
  const [one] = found(
    whole(
      `${ends} a [prompt=x, response_file=y]; start -> a; a -> exit [condition="outcome=approve || outcome=fail"]`,
    ),
  );
  expect(one).toMatchObject({
    code: 'unknown-outcome',
    severity: 'error',
    fix: expect.stringContaining('{"outcome": "approve"} to $FACTORY_OUTPUT'),
  });
});

test('a prompt file is searched for references if its text is given', () => {
  const pipeline = around('prompt="@p.md"');
  expect(found(pipeline)).toEqual([]);
  const [only, ...others] = found(pipeline, new Map([['@p.md', 'read ${var.spec}']]));
  expect(others).toEqual([]);
  expect(only).toMatchObject({
    code: 'unknown-reference',
    message: 'in p.md: the variable "spec" is not declared',
  });
});

test('repeated nodes, empty prompts, agents with access to runs with a holdout, attributes without effect, unknown attributes and keys, gates without a target, human gates that want words or yes and no and do not say how, unasked outcomes, tools that name a plan, hidden failures, prefixes that allow anything, commands that need a sandbox, variables of the shell and possible paths are warnings; syntax that Graphviz does not read is a hint; the rest are errors', () => {
  const severity = new Map(bad.flatMap(([, pipeline]) => found(pipeline)).map((d) => [d.code, d.severity]));
  expect(
    [...severity]
      // These depend on the case.
      .filter(
        ([code, s]) =>
          s === 'warning' &&
          !['undeclared-node', 'unknown-outcome', 'unknown-class', 'unset-key', 'call-return'].includes(code),
      )
      .map(([code]) => code)
      .sort(),
  ).toEqual([
    ...'attribute-kind bare-prefix call-setting condition-key duplicate-node edge-never-taken empty-prompt'.split(
      ' ',
    ),
    ...'endless-cycle failure-to-success gate-text gate-without-retry gate-yes-no holdout-access masked-failure needs-sandbox no-effect'.split(
      ' ',
    ),
    ...'outcome-not-asked outcome-uncovered provider-unserved restart-exit sets-plan shell-variable'.split(
      ' ',
    ),
    ...'stylesheet-property unknown-attribute'.split(' '),
  ]);
});

test('conditionals in a cycle are followed once', () => {
  const circle = 'd [shape=diamond]; e [shape=diamond]; d -> e [weight=-1]; e -> b [weight=-1]; e -> d';
  const pipeline = whole(`${ends} a [prompt=x]; b [prompt=x]; start -> a -> d; ${circle}; b -> exit`);
  expect(found(pipeline).map(({ code }) => code)).toEqual(['failure-to-success']);
});

test.for([
  ['a -> b; a -> b; b -> exit', 'remove the edge'],
  [
    'a -> b [condition="outcome=fail"]; a -> exit [condition="outcome=fail"]; a -> exit; b -> exit',
    'give it another condition, or remove the edge',
  ],
  [
    'a -> b [condition="outcome=fail"]; a -> exit [condition="outcome=fail && failure_class=infra"]; a -> exit; b -> exit',
    'give it another condition, or a higher weight',
  ],
])('a higher weight is suggested only if it helps: %s', ([edges, fix]) => {
  const diagnostics = found(`digraph g {
    start [shape=Mdiamond]; exit [shape=Msquare]
    a [shape=parallelogram, tool_command=x]; b [shape=parallelogram, tool_command=x]
    start -> a; ${edges} }`);
  expect(diagnostics.filter((d) => d.code === 'edge-never-taken').map((d) => d.fix)).toEqual([fix]);
});

test('an unknown attribute is reported once, with the elements that have it, and is an error if asked', () => {
  const text = whole(`${ends} node [zork=1]; a; b; c; start -> a -> b -> c -> exit`);
  const unknown = (strict: boolean) =>
    findingsOf(text, { strict }).filter(({ code }) => code === 'unknown-attribute');
  expect(unknown(false)).toMatchObject([
    { message: 'the attribute "zork" is unknown (on "a", "b", "c")', severity: 'warning' },
  ]);
  expect(unknown(true)).toMatchObject([{ severity: 'error' }]);
});

test('a misspelt target of an edge is the first finding, and the node that was meant is not unreachable', () => {
  const text = whole('start; exit; build [label=x]; start -> biuld; build -> exit');
  expect(found(text)).toMatchObject([{ code: 'undeclared-node', severity: 'error', fix: 'write build' }]);
});

test('an own word is an outcome behind a tool or an agent, also through a conditional', () => {
  const words = (kind: string) =>
    found(
      whole(
        `${ends} a [${kind}]; d [shape=diamond]; start -> a -> d; d -> exit [condition="outcome=has_dod"]; d -> exit`,
      ),
    ).filter(({ code }) => code === 'unknown-outcome').length;
  expect(words('shape=parallelogram, tool_command=x')).toBe(0);
  expect(words('prompt=x')).toBe(0);
  expect(words('type=verification, "verification.allowed_commands"=ls')).toBe(1);
});

test('a refused command is an error, and a warning if the pipeline is about to run', () => {
  const text = around('shape=parallelogram, tool_command="cat /etc/hosts"');
  expect(findingsOf(text)).toMatchObject([
    {
      code: 'refused-command',
      severity: 'error',
      message: expect.stringContaining(
        '"a" will fail: tool_command rejected by guardrail: contains an absolute path',
      ),
    },
  ]);
  expect(findingsOf(text, { toRun: true })).toMatchObject([{ severity: 'warning' }]);
});

test('each entry of verification.allowed_commands that allows no command is named', () => {
  const entries = 'npm test, cat /etc/hosts, a && b, CI=1 npm test';
  const messages = found(around(`type=verification, "verification.allowed_commands"="${entries}"`))
    .filter(({ code }) => code === 'refused-command')
    .map(({ message }) => message);
  expect(messages).toEqual([
    expect.stringContaining('/etc/hosts'),
    expect.stringContaining('"&&"'),
    expect.stringContaining('does not list it: CI=1 npm test'),
  ]);
});
