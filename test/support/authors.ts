/** Mistakes of authors: each is one change of the same loop, which is right without it. */

export const fixLoop = `digraph fix {
  workdir="none"
  vars="name=world"
  start [shape=Mdiamond]
  test [shape=parallelogram, tool_command="make test", timeout="60s", max_retries=2]
  fix  [shape=box, prompt="Fix it", max_visits=4]
  done [shape=Msquare]
  bad [shape=Msquare, outcome=fail]
  start -> test
  test -> done [condition="outcome=success"]
  test -> fix [condition="outcome=fail"]
  fix -> test [condition="outcome=success"]
  fix -> bad [condition="outcome=fail"]
}
`;

export type AuthorsMistake = {
  /** What stands in the loop, and what the author wrote there. */
  readonly right: string;
  readonly wrong: string;
  /** The one finding: its code, and the text that it underlines (of several lines the first). */
  readonly code: string;
  readonly under: string;
  /** What `--fix` makes of the loop: `right` for the loop without the mistake, another text in the place of `wrong`, or nothing. */
  readonly fixed: 'right' | 'nothing' | { readonly text: string };
};

const row = (
  right: string,
  wrong: string,
  code: string,
  under: string,
  fixed: AuthorsMistake['fixed'] = 'right',
): AuthorsMistake => ({ right, wrong, code, under, fixed });

export const authorsMistakes: readonly AuthorsMistake[] = [
  row('"make test"', '"cat /etc/hostname"', 'refused-command', '"cat /etc/hostname"', 'nothing'),
  row(
    'test -> fix [condition="outcome=fail"]',
    'test -> fix [condition="outcome=fail and failure_class=product"]',
    'condition-syntax',
    'and',
    {
      text: 'test -> fix [condition="outcome=fail && failure_class=product"]',
    },
  ),
  row('"Fix it"', '"Fix it", agent.backend="cluade"', 'agent-unknown', '"cluade"', {
    text: '"Fix it", "agent.backend"="claude"',
  }),
  row('"Fix it"', '"Fix it", max_cost="5"', 'unknown-attribute', 'max_cost', {
    text: '"Fix it", max_cost_usd="5"',
  }),
  row(
    '  bad [',
    '  test [shape=parallelogram, tool_command="echo 2"]\n  bad [',
    'duplicate-node',
    'test',
    'nothing',
  ),
  row('"60s"', '60s', 'not-graphviz', '60s'),
  row('"60s"', '"1 minute"', 'attribute-value', '"1 minute"', { text: '"1m"' }),
  row('done [condition="outcome=success"]', 'done [condition="outcome==success"]', 'condition-syntax', '=='),
  row(
    'test -> fix [condition="outcome=fail"]',
    'test -> fix [condition="outcome=fail && failure_class=produkt"]',
    'unknown-class',
    'produkt',
    {
      text: 'test -> fix [condition="outcome=fail && failure_class=product"]',
    },
  ),
  row('digraph', 'graph', 'undirected-graph', 'graph'),
  row('max_retries', 'max_retry', 'unknown-attribute', 'max_retry'),
  row('max_visits=4', 'max_visits=four', 'attribute-value', 'four', 'nothing'),
  row('"outcome=fail"]\n}\n', '"outcome=fail"]\n', 'unclosed-brace', '{'),
  row('done [shape=Msquare]', 'done [shape=Msquare', 'unclosed-list', '['),
  row('  test -> fix [condition="outcome=fail"]\n', '', 'outcome-uncovered', 'test', 'nothing'),
  row('"Fix it"', '"Fix it', 'unclosed-string', '"Fix it, max_visits=4]', 'nothing'),
  row('done [shape=Msquare]', 'done', 'outcome-uncovered', 'done', 'nothing'),
  row(', prompt="Fix it"', '', 'empty-prompt', 'fix', 'nothing'),
  row('"make test"', 'make test', 'syntax', 'make'),
  row(
    'done [condition="outcome=success"]',
    'done [condition=outcome=success]',
    'not-graphviz',
    'outcome=success',
  ),
  row('start [shape=Mdiamond]', 'start [shape=box, prompt="x"]', 'attribute-kind', 'prompt', 'nothing'),
  row('outcome=fail]', 'outcome=failed]', 'attribute-value', 'failed'),
  row('prompt="Fix it"', 'prompt_file="fix.md"', 'prompt-file-missing', '"fix.md"', 'nothing'),
  row('prompt="Fix it"', 'promt="Fix it"', 'unknown-attribute', 'promt'),
  row('max_retries', 'retries', 'unknown-attribute', 'retries'),
  row('start -> test', 'start -> test # first', 'not-graphviz', '#', { text: 'start -> test // first' }),
  row('parallelogram', 'paralelogram', 'unknown-shape', 'paralelogram'),
  row('"Fix it"', "'Fix it'", 'quotes', "'Fix"),
  row('done [condition="outcome=success"]', 'done [condition="outcome=sucess"]', 'unknown-outcome', 'sucess'),
  row('start -> test', 'start -> tset', 'undeclared-node', 'tset'),
  row('tool_command', 'tool_comand', 'unknown-attribute', 'tool_comand'),
  row(', max_visits=4', ', label="x"', 'endless-cycle', 'fix', 'nothing'),
  row('start -> test', 'start -- test', 'undirected-edge', '--'),
  row('"none"', '"nope"', 'workdir-missing', '"nope"', 'nothing'),
  row('"Fix it"', '"Fix it", allowed_writes="src"', 'unknown-attribute', 'allowed_writes', {
    text: '"Fix it", allowed_write_paths="src"',
  }),
  row('"make test"', '"echo ${var.nmae}"', 'unknown-reference', '${var.nmae}', {
    text: '"echo ${var.name}"',
  }),
  row('"make test"', '"echo ${name}"', 'shell-variable', '${name}', { text: '"echo ${var.name}"' }),
];

/** Texts that look odd and are right. */
export const noMistakes: readonly (readonly [right: string, other: string])[] = [
  ['"60s"', '"60"'],
  ['"Fix it"', '"Fix it", model="gpt-5"'],
  ['"make test"', '"cd src; make test"'],
];

/** Pipelines whose paths cannot work, each with what is found: code and underlined text. */
export const deadPipelines: readonly {
  readonly text: string;
  readonly found: readonly (readonly [code: string, under: string])[];
}[] = [
  {
    text: `digraph release {
  workdir="none"
  start [shape=Mdiamond]
  build [shape=parallelogram, tool_command="make"]
  check [type=verification, "verification.allowed_commands"="tar tzf"]
  done [shape=Msquare]
  bad [shape=Msquare, outcome=fail]
  start -> build -> check
  check -> done [condition="outcome=success"]
  check -> bad [condition="outcome=fail"]
}
`,
    found: [['plan-missing', 'check']],
  },
  {
    text: `digraph review {
  workdir="none"
  start [shape=Mdiamond]
  diff [shape=parallelogram, tool_command="git diff HEAD~1 > change.patch || true"]
  review [shape=box, prompt="Review change.patch.", response_file="review.md"]
  verdict [shape=diamond, label="v"]
  approve [shape=Msquare]
  reject [shape=Msquare, outcome=fail]
  start -> diff -> review -> verdict
  verdict -> approve [condition="outcome=approve"]
  verdict -> reject [condition="outcome=reject"]
}
`,
    found: [
      ['unknown-outcome', 'approve'],
      ['unknown-outcome', 'reject'],
    ],
  },
];
