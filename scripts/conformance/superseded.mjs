/** Cases whose expectation the design replaces, with the reason. They are run, and told where they differ. */
const superseded = [
  ['valid-reject-edge-target-missing', 'an edge to a node that is not declared declares it, as in Graphviz'],
  ['tool-command-required', 'a tool without a command is refused before the run'],
  ['parse-reject-subgraph', 'subgraphs are read'],
  ['valid-reject-v1-', 'conditions and diamonds are part of the language'],
  ['verify-workdir-rejected', 'a workdir that is absolute or leads out is refused before the run'],
  ['quirk-retry-negative', 'refused before the run'],
  ['fake-alias-env', 'a failed node that walks into an exit by an unconditional edge fails the run'],
  ['02-plan-two-failures-then-success', 'the request for a revision repeats the whole request before it'],
  ['14-run-pass', 'the prompt shows the acceptance commands'],
  ['32-run-exhausts-attempts', 'a branch is made and switched to only when an order has passed'],
  ['63-run-all-resume', 'a batch that is committed already succeeds with nothing to do'],
  ['no retry, no fallback', 'a stream that is refused for now is tried again, and Retry-After is heeded'],
];

/** Why the case need not hold, or undefined. */
export function supersededBy(id) {
  return superseded.find(([part]) => id.includes(part))?.[1];
}
