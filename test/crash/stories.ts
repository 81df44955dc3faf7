/** The pipelines of the matrix, and the commands on their runs. Together they use every kind of node, retries, loops,
 *  scopes, commits, waits, forks, replays, checkouts and deliveries.
 *  Each node with an effect outside the workspace adds a line to the file `$LEDGER`: node, visit, attempt. */
import { type Question, questionHash } from '../../src/core/records/question.ts';
import { answerText } from '../../src/run/answer-files.ts';

/** One more command after the run has ended, or is suspended. */
export type Step = {
  readonly args: readonly string[];
  /** Exit code of the undisturbed one. */
  readonly code: number;
  /** Files that are created first. */
  readonly before?: Readonly<Record<string, string>>;
  /** The run that it creates: once that exists, it is resumed. All other commands are repeated. */
  readonly makes?: string;
};

export type Story = {
  readonly name: string;
  /** Files of the folder that the run is started in, by name; programs where they begin with `#!`. `p.dot` is the pipeline. */
  readonly files: Readonly<Record<string, string>>;
  /** Flags of `factory run` besides the run's id. */
  readonly flags: readonly string[];
  /** Exit code of the undisturbed run. */
  readonly code: number;
  readonly after?: readonly Step[];
  /** The folder that is a git repository from the start. */
  readonly source?: string;
  /** Repositories, and folders, that are compared besides the run `r1`; and other runs. */
  readonly repositories?: readonly string[];
  readonly folders?: readonly string[];
  readonly runs?: readonly string[];
  /** What a model on loopback answers to a prompt; each request adds its line to the ledger. */
  readonly model?: (prompt: string) => { readonly line: string; readonly text: string };
};

const ledger = 'echo $FACTORY_NODE $FACTORY_VISIT $FACTORY_ATTEMPT >> $LEDGER';
const workdir = { 'work/keep.txt': 'kept\n', 'work/lib/deep/a.txt': 'a\n', 'work/empty.txt': '' };

/** A loop with a retry, a product that is rebuilt if it is older than its source, a scope violation, a conditional,
 *  a model that is faked, and a verification. */
const nodes: Story = {
  name: 'nodes',
  files: {
    ...workdir,
    'work/product.txt': 'old\n',
    'p.dot': `digraph nodes {
  goal="see every kind of node"
  start  [shape=Mdiamond]
  write  [shape=parallelogram, tool_command="${ledger}; echo $FACTORY_VISIT >> log.txt; ln -sf log.txt link; chmod 755 keep.txt; mkdir -p out/empty; touch -t 200102030405 product.txt"]
  flaky  [shape=parallelogram, max_retries=2, retry_delay=1ms, tool_command="${ledger}; echo try >> tries.txt; if [ log.txt -nt product.txt ]; then cp log.txt product.txt; fi; if [ $FACTORY_ATTEMPT = 1 ]; then echo '{\\"outcome\\":\\"retry\\",\\"failure_reason\\":\\"once more\\"}' > $FACTORY_OUTPUT; else echo '{\\"context_updates\\":{\\"count\\":3,\\"list\\":[1,\\"two\\"]}}' > $FACTORY_OUTPUT; fi"]
  scoped [shape=parallelogram, allowed_write_paths="out/", tool_command="${ledger}; echo ok >> out/ok.txt; if [ $FACTORY_VISIT = 1 ]; then echo bad > keep.txt; rm lib/deep/a.txt; ln -s nowhere lib/l; fi"]
  judge  [shape=diamond]
  model  [shape=box, prompt="$goal", max_retries=1, retry_delay=1ms, test.outcome_sequence="retry,success", test.verification_plan_json="{\\"files\\":[\\"log.txt\\"],\\"commands\\":[\\"test -f log.txt\\",\\"grep -q kept keep.txt\\"]}"]
  check  [type=verification, verification.allowed_commands="test -f, grep -q"]
  done   [shape=Msquare]
  bad    [shape=Msquare, outcome=fail]
  start -> write -> flaky -> scoped
  scoped -> judge
  judge -> write [condition="outcome=fail && failure_class=guardrail"]
  judge -> model [condition="outcome=success"]
  judge -> bad
  model -> check
  check -> done [condition="outcome=success"]
  check -> bad [condition="outcome=fail"]
}`,
  },
  flags: ['--workdir', 'work', '--agent', 'fake'],
  code: 0,
};

/** Branches, one after the other so that the order is the same each time: two change one file, one fails, one has branches itself,
 *  one begins anew. The join is a node that also runs as itself, and sends the run back to the branches once. */
const branches: Story = {
  name: 'branches',
  files: {
    ...workdir,
    'work/shared.txt': '1\n2\n3\n4\n5\n6\n7\n8\n9\n',
    'p.dot': `digraph branches {
  start [shape=Mdiamond]
  fan   [shape=component, max_parallel=1]
  a     [shape=parallelogram, tool_command="${ledger}; echo $FACTORY_VISIT >> a.txt; sed -i 's/^1$/one/' shared.txt"]
  a2    [shape=parallelogram, tool_command="${ledger}; echo a2 >> a.txt; rm -f lib/deep/a.txt; echo '{\\"context_updates\\":{\\"from\\":\\"a\\"}}' > $FACTORY_OUTPUT"]
  b     [shape=parallelogram, goal_gate=true, retry_target=b, tool_command="${ledger}; echo b >> out.txt; sed -i 's/^9$/nine/' shared.txt; test $FACTORY_VISIT -ge 2"]
  c     [shape=component, max_parallel=1]
  c1    [shape=parallelogram, tool_command="${ledger}; echo c1 > c1.txt; exit 1"]
  c2    [shape=parallelogram, tool_command="${ledger}; echo c2 > c2.txt; test $FACTORY_VISIT -ge 2"]
  meet  [shape=parallelogram, tool_command="${ledger}; ls > meet.txt"]
  check [shape=parallelogram, tool_command="${ledger}; ls > seen.txt; test $FACTORY_VISIT = 2"]
  done  [shape=Msquare]
  start -> fan
  fan -> a -> a2 -> check
  fan -> b -> check
  fan -> c
  c -> c1 -> meet
  c -> c2 -> meet
  c2 -> c2 [condition="outcome=fail", loop_restart=true]
  meet -> check
  check -> done [condition="outcome=success"]
  check -> fan [condition="outcome=fail"]
}`,
  },
  flags: ['--workdir', 'work', '--agent', 'fake'],
  code: 0,
};

/** Prepared answers, a loop that fixes a failure, and an end in a failing exit. */
const answers: Story = {
  name: 'answers',
  files: {
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { fix: [{ text: 'first\n' }, { text: 'second\n' }, { text: 'third\n' }] },
    }),
    'spec.md': '# A spec\n',
    'p.dot': `digraph answers {
  workdir="none"
  vars="spec=@spec.md, want=second"
  agent_script="agent.json"
  start [shape=Mdiamond]
  check [shape=parallelogram, tool_command="${ledger}; cat \${var.spec} > copy.md; grep -q \${var.want} answer.txt"]
  fix   [shape=box, max_visits=3, response_file="answer.txt", allowed_write_paths="answer.txt", prompt="Fix it."]
  last  [shape=parallelogram, tool_command="${ledger}; echo it fails; exit 3"]
  failed [shape=Msquare, outcome=fail]
  start -> check
  check -> last [condition="outcome=success"]
  check -> fix [condition="outcome=fail"]
  fix -> check
  last -> failed [condition="outcome=fail"]
  last -> check [condition="outcome=success"]
}`,
  },
  flags: [],
  code: 1,
};

/** A pipeline that calls another one twice, of which the first call fails, and which calls a third one itself. */
const calls: Story = {
  name: 'calls',
  files: {
    ...workdir,
    'p.dot': `digraph calls {
  start [shape=Mdiamond]
  call  [type=subgraph, graph_ref="sub/child.dot", var.want="two", returns=seen]
  fix   [shape=parallelogram, tool_command="${ledger}; echo two >> log.txt"]
  last  [shape=parallelogram, tool_command="${ledger}; echo \${ctx.seen} >> log.txt"]
  done  [shape=Msquare]
  start -> call
  call -> last [condition="outcome=success"]
  call -> fix [condition="outcome=fail"]
  fix -> call
  last -> done [condition="outcome=success"]
}`,
    'sub/child.dot': `digraph child {
  vars="want"
  default_max_visits=1
  start [shape=Mdiamond]
  one   [shape=parallelogram, tool_command="${ledger}; echo $FACTORY_VISIT >> log.txt; echo '{\\"context_updates\\":{\\"seen\\":\\"'$FACTORY_VISIT'\\"}}' > $FACTORY_OUTPUT"]
  deep  [shape=house, stack.child_dotfile="leaf.dot", stack.child.var.name="\${var.want}"]
  check [shape=parallelogram, tool_command="${ledger}; grep -q \${var.want} log.txt"]
  done  [shape=Msquare]
  start -> one
  one -> deep [condition="outcome=success"]
  deep -> check [condition="outcome=success"]
  check -> done [condition="outcome=success"]
}`,
    'sub/leaf.dot': `digraph leaf {
  vars="name"
  start [shape=Mdiamond]
  leaf  [shape=parallelogram, tool_command="${ledger}; touch leaf-\${var.name}"]
  done  [shape=Msquare]
  start -> leaf -> done
}`,
  },
  flags: ['--workdir', 'work'],
  code: 0,
};

/** Holdout scenarios: each node reports whether it sees them, one violates its scope, and at the end they are restored. */
const sealed: Story = {
  name: 'sealed',
  files: {
    ...workdir,
    'work/scripts/scenarios/judge.sh': 'grep -q second answer.txt\n',
    'work/scripts/scenarios/data/in.txt': 'in\n',
    'work/agent.sh': `${ledger}; test ! -e scripts/scenarios || exit 9; if [ $FACTORY_VISIT = 1 ]; then mkdir -p scripts/scenarios; echo exit 0 > scripts/scenarios/judge.sh; echo first > answer.txt; else echo second > answer.txt; fi; echo done\n`,
    'p.dot': `digraph sealed {
  start [shape=Mdiamond]
  plan  [shape=parallelogram, sets_plan=true, tool_command="${ledger}; test -e scripts/scenarios/data/in.txt && echo '{\\"context_updates\\":{\\"plan\\":{\\"files\\":[],\\"commands\\":[\\"sh scripts/scenarios/judge.sh\\"]}}}' > $FACTORY_OUTPUT"]
  work  [agent.backend=command, command.run="sh agent.sh", response_format=text, prompt="work", max_retries=0]
  check [type=verification, verification.allowed_commands="sh", verification.plan_context_key="plan"]
  spoil [shape=parallelogram, tool_command="${ledger}; rm -r scripts/scenarios/data; echo x > scripts/scenarios/judge.sh"]
  last  [type=verification, verification.allowed_commands="sh", verification.plan_context_key="plan"]
  done  [shape=Msquare]
  bad   [shape=Msquare, outcome=fail]
  start -> plan -> work
  work  -> check [condition="outcome=success"]
  work  -> work [condition="failure_class=guardrail"]
  work  -> bad [condition="outcome=fail && failure_class!=guardrail"]
  check -> spoil [condition="outcome=success"]
  check -> bad [condition="outcome=fail"]
  spoil -> last [condition="failure_class=guardrail"]
  spoil -> bad [condition="failure_class!=guardrail"]
  last  -> done [condition="outcome=success"]
  last  -> bad [condition="outcome=fail"]
}`,
  },
  flags: ['--workdir', 'work'],
  code: 0,
};

const emptySha = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const proposal = (path: string, content: string) =>
  JSON.stringify({ summary: 's', writes: [{ path, base_sha256: emptySha, content }] });
const order = (n: number) => ({
  id: `WO-0${n}`,
  title: `Step ${n}`,
  intent: `Make f${n}.txt.`,
  preconditions: [{ kind: 'file_absent', path: `f${n}.txt` }],
  postconditions: [{ kind: 'file_exists', path: `f${n}.txt` }],
  allowed_files: [`f${n}.txt`],
  forbidden: [],
  acceptance_commands: [`grep -q right f${n}.txt`],
  context_files: [`f${n}.txt`],
  notes: null,
});

/** A build with its tools: two work orders, of which the second first gets a wrong answer and is rolled back. */
const orders = (build: string, propose: string): Story => ({
  name: 'orders',
  files: {
    'plan.json': JSON.stringify({
      system_overview: ['two files'],
      verify_contract: { command: 'test -f f1.txt', requires: [{ kind: 'file_exists', path: 'f1.txt' }] },
      work_orders: [order(1), order(2)],
    }),
    'propose.md': propose,
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        propose: [
          { text: proposal('f1.txt', 'right 1\n') },
          { text: proposal('f2.txt', 'wrong 2\n') },
          { text: proposal('f2.txt', 'right 2\n') },
        ],
      },
    }),
    'p.dot': build,
  },
  flags: ['--agent', 'scripted'],
  code: 0,
});

/** A build that asks for three orders ahead, one after the other so that the order is the same each time. The first answer to the second
 *  is wrong, and is not asked ahead again. */
const rounds = (build: string, propose: string): Story => ({
  ...orders(build.replace('max_parallel=1000', 'max_parallel=1'), propose),
  name: 'rounds',
  files: {
    'plan.json': JSON.stringify({
      system_overview: ['three files'],
      verify_contract: { command: 'test -f f1.txt', requires: [{ kind: 'file_exists', path: 'f1.txt' }] },
      work_orders: [order(1), order(2), order(3)],
    }),
    'propose.md': propose,
    'p.dot': build.replace('max_parallel=1000', 'max_parallel=1').replace(/ *agent_script=.*\n/, ''),
  },
  flags: ['--agent', 'openai'],
  model(prompt) {
    const n = /^# WO-0(\d)/m.exec(prompt)?.[1] ?? '';
    const isWrong = n === '2' && prompt.includes('(this is the first attempt)');
    return { line: `ask WO-0${n} 1`, text: proposal(`f${n}.txt`, `${isWrong ? 'wrong' : 'right'} ${n}\n`) };
  },
});

const answer = (more: object) =>
  `echo '${JSON.stringify({ type: 'result', subtype: 'success', result: 'said', ...more })}'`;
/** Replaces an agent program: it has no key until the file `key` exists, and no quota until the file `quota` exists. */
const claude = `#!/bin/sh
cat > /dev/null
if [ ! -e "$HOME/key" ]; then ${answer({ is_error: true, api_error_status: 401 })}; exit 1; fi
if [ "$FACTORY_NODE" = late ] && [ ! -e "$HOME/quota" ]; then
  echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4102444800}}'
  ${answer({ is_error: true, api_error_status: 429 })}; exit 1
fi
${ledger}; echo "$FACTORY_NODE" >> asked.txt
${answer({ is_error: false, total_cost_usd: 0.25, structured_output: { outcome: 'success', preferred_next_label: '', suggested_next_ids: [], context_updates: {}, verification_plan: null, notes: 'done', failure_reason: '' } })}
`;

/** Is suspended for a key, then for a quota in a nested run, and is resumed each time. */
const parks: Story = {
  name: 'parks',
  files: {
    ...workdir,
    'work/claude.sh': claude,
    'work/inner.dot': `digraph inner {
  workdir="."
  start [shape=Mdiamond]
  late  [agent=claude, claude.path="./claude.sh", prompt="late"]
  done  [shape=Msquare]
  start -> late -> done
}`,
    'p.dot': `digraph parks {
  start [shape=Mdiamond]
  ask   [agent=claude, claude.path="./claude.sh", prompt="ask", max_retries=0]
  nest  [shape=parallelogram, tool_command="if [ -e $LEDGER.runs/in/manifest.json ]; then factory resume in --now --runsdir $LEDGER.runs; else factory run inner.dot --run-id in --runsdir $LEDGER.runs; fi"]
  fix   [shape=parallelogram, tool_command="${ledger}"]
  last  [shape=parallelogram, tool_command="${ledger}; cat asked.txt"]
  done  [shape=Msquare]
  start -> ask
  ask -> nest [condition="outcome=success"]
  nest -> last [condition="outcome=success"]
  nest -> fix [condition="outcome=fail && failure_class=product"]
  fix -> nest
  last -> done
}`,
  },
  flags: ['--workdir', 'work'],
  code: 75,
  after: [
    { args: ['resume', 'r1'], code: 75, before: { key: '' } },
    { args: ['resume', 'r1', '--now'], code: 0, before: { quota: '' } },
  ],
};

const decision: Question = {
  ...{ id: 'ask@1', node: 'ask', visit: 1, mode: 'choice', text: 'Ship it?' },
  after: { node: 'one', outcome: 'success', notes: '' },
  options: [
    { key: 'Y', label: 'Yes', to: 'late' },
    { key: 'N', label: 'No', to: 'one' },
  ],
  ...{ text_to: null, default: null, timeout_action: 'fail', asked_at: '', deadline: null },
};

/** Asks a person at three gates: one is answered by a file of answers, one by a person, one by its deadline. */
const gates: Story = {
  name: 'gates',
  files: {
    ...workdir,
    'auto.json': '{"first": "G"}',
    'p.dot': `digraph gates {
  start [shape=Mdiamond]
  first [shape=hexagon, label="Go?"]
  one   [shape=parallelogram, tool_command="${ledger}; echo $FACTORY_VISIT >> log.txt"]
  ask   [shape=hexagon, label="Ship it?"]
  late  [shape=hexagon, label="Still?", human.timeout=0s, human.default_choice=two]
  two   [shape=parallelogram, tool_command="${ledger}; echo two >> log.txt"]
  done  [shape=Msquare]
  start -> first
  first -> one [label="Go"]
  one -> ask
  ask -> late [label="Yes"]
  ask -> one [label="No"]
  late -> two
  two -> done
}`,
  },
  flags: ['--workdir', 'work', '--auto-answer', 'auto.json'],
  code: 75,
  after: [
    { args: ['resume', 'r1'], code: 75 },
    {
      args: ['resume', 'r1'],
      code: 0,
      before: {
        '.factory/runs/r1/answers/ask@1.json': answerText({
          ...{ question: 'ask@1', choice: 'late', label: 'Yes', by: 'Ada', at: '2026-01-01T00:00:00.000Z' },
          ...{ from: 'command', question_sha256: questionHash(decision) },
        }),
      },
    },
  ],
};

/** Commands on an ended run: fork from its middle, replay, and checkout. */
const forks: Story = {
  name: 'forks',
  files: {
    ...workdir,
    'p.dot': `digraph forks {
  start [shape=Mdiamond]
  one   [shape=parallelogram, tool_command="${ledger}; echo $FACTORY_VISIT >> log.txt; ln -sf log.txt link; mkdir -p out/empty"]
  two   [agent=fake, prompt="two"]
  three [shape=parallelogram, tool_command="${ledger}; echo three >> log.txt; rm lib/deep/a.txt"]
  done  [shape=Msquare]
  start -> one -> two -> three -> done
}`,
  },
  flags: ['--workdir', 'work'],
  code: 0,
  after: [
    { args: ['fork', 'r1', '--at', 'one', '--run-id', 'f1'], code: 0, makes: 'f1' },
    { args: ['replay', 'r1', '--run-id', 'p1'], code: 0, makes: 'p1' },
    { args: ['checkout', 'r1', 'look', '--at', 'two'], code: 0 },
  ],
  runs: ['f1', 'p1'],
  folders: ['look'],
};

/** One work order, delivered to a branch of the source and to a separate repository. */
const delivers = (build: string, propose: string): Story => ({
  ...orders(build, propose),
  name: 'delivers',
  files: {
    ...orders(build, propose).files,
    ...workdir,
    'plan.json': JSON.stringify({
      system_overview: ['one file'],
      verify_contract: { command: 'test -f f1.txt', requires: [{ kind: 'file_exists', path: 'f1.txt' }] },
      work_orders: [order(1)],
    }),
  },
  flags: ['--agent', 'scripted', '--workdir', 'work'],
  after: [
    { args: ['deliver', 'r1', '--branch', 'made'], code: 0 },
    { args: ['deliver', 'r1', '--to', 'out'], code: 0 },
  ],
  source: 'work',
  repositories: ['work', 'out'],
  folders: ['work/lib', 'out/lib'],
});

/** A build whose project has setup commands: an order changes a lock file, is undone with what was installed for it, and changes it again; the
 *  next one needs what its commit has kept. */
const setups = (build: string, propose: string): Story => ({
  ...orders(build, propose),
  name: 'setups',
  files: {
    ...orders(build, propose).files,
    ...workdir,
    'work/factory.json': JSON.stringify({
      setup: [
        'mkdir -p deps; touch deps/half deps/x; ! test -e package-lock.json || cp package-lock.json deps/x',
        'rm deps/half',
      ],
    }),
    'work/.gitignore': 'deps/\n',
    'plan.json': JSON.stringify({
      system_overview: ['a lock file and what needs it'],
      verify_contract: { command: 'test -f f2.txt', requires: [{ kind: 'file_exists', path: 'f2.txt' }] },
      work_orders: [
        {
          ...order(1),
          ...{ preconditions: [], postconditions: [{ kind: 'file_exists', path: 'package-lock.json' }] },
          ...{ allowed_files: ['package-lock.json'], context_files: ['package-lock.json'] },
          acceptance_commands: ['grep -q right deps/x'],
        },
        { ...order(2), acceptance_commands: ['grep -q right deps/x', 'grep -q right f2.txt'] },
      ],
    }),
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        propose: [
          { text: proposal('package-lock.json', '{"a":"wrong"}\n') },
          { text: proposal('package-lock.json', '{"a":"right"}\n') },
          { text: proposal('f2.txt', 'right 2\n') },
        ],
      },
    }),
  },
  flags: ['--agent', 'scripted', '--workdir', 'work'],
});

/** `read` returns the text of a file of the repository. */
export async function stories(read: (path: string) => Promise<string>): Promise<readonly Story[]> {
  const build = (await read('pipelines/build.dot'))
    .replace('@../examples/linkcheck/plan.json', '@plan.json')
    .replace('@../prompts/propose.md', '@propose.md')
    .replace('../examples/linkcheck/agent.json', 'agent.json');
  const propose = await read('prompts/propose.md');
  return [
    nodes,
    branches,
    answers,
    calls,
    sealed,
    orders(build, propose),
    rounds(build, propose),
    parks,
    gates,
    forks,
    delivers(build, propose),
    setups(build, propose),
  ];
}
