/** What surrounds every execution of a node. A new rule is a file here that exports a `Layer`, and a line in `layers`. */
import { alone } from './alone.ts';
import { baseTree } from './base-tree.ts';
import { budget } from './budget.ts';
import { call } from './call.ts';
import { checks } from './checks.ts';
import { holdoutMount } from './holdout.ts';
import { itemBranches } from './item-branches.ts';
import { joinLayer } from './join.ts';
import { type Execute, type Layer, surrounded } from './layer.ts';
import { leaks } from './leaks.ts';
import { record } from './record.ts';
import { replay } from './replay.ts';
import { rerun } from './rerun.ts';
import { retry } from './retry.ts';
import { runKind } from './run-kind.ts';
import { sandbox } from './sandbox.ts';
import { scope } from './scope.ts';
import { secrets } from './secrets.ts';
import { runSetup, setup, setupAttempt } from './setup.ts';
import { snapshot } from './snapshot.ts';
import { strength } from './strength.ts';

/** What surrounds a program also where it runs a second time, in a copy of the workspace. */
const everywhere: readonly Layer[] = [secrets, baseTree, sandbox];

/** Outermost first. What a layer does before `next` happens in this order, what it does after `next` in the opposite one: the
 *  holdout is removed before the snapshot is taken, the exchange is saved before a leak ends the run, and a leak is looked for
 *  before anything is restored. All from `rerun` on happens once per attempt: what concerns an
 *  execution with all its attempts and waits stands between `budget` and `retry`, what concerns replayed ones too before `replay`. */
export const layers: readonly Layer[] = [
  call,
  joinLayer,
  itemBranches,
  setup(surrounded([alone, budget, setupAttempt, snapshot, holdoutMount, ...everywhere], runSetup)),
  replay,
  alone,
  budget,
  retry,
  rerun(surrounded(everywhere, runKind)),
  scope,
  checks,
  leaks,
  record,
  snapshot,
  holdoutMount,
  strength,
  ...everywhere,
];

/** Executes a node on this machine, in the run's workspace. */
export const executeHere: Execute = surrounded(layers, runKind);
