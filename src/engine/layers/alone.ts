/** Without a sandbox a program of one branch sees the folders of the others: a stage to which the holdout is shown does not run at
 *  the same time as a stage that could look for it there, or change it. */
import { failed } from '../../core/outcome.ts';
import { type SealedHoldout, seesHoldout } from '../../holdout/mount.ts';
import { sandboxLevelOf } from '../confinement.ts';
import type { Layer, LayerContext } from './layer.ts';

export const alone: Layer = (next) => async (context) => {
  const stage = stageOf(context);
  if (stage === undefined) return next(context);
  const leave = await enter(stage, context);
  // A resume repeats an execution that was cancelled before it began.
  if (leave === undefined) return { outcome: failed('cancelled', 'cancelled'), snapshot: context.before };
  try {
    return await next(context);
  } finally {
    leave();
  }
};

type Stage = {
  readonly sealed: SealedHoldout;
  /** The holdout is in its workspace. */
  readonly hasHoldout: boolean;
  /** No sandbox keeps its programs from the folders of other branches. */
  readonly seesOthers: boolean;
};

/** Undefined for one that may always run. */
function stageOf({ run, node, kind }: LayerContext): Stage | undefined {
  const { sealed } = run;
  if (run.branch === undefined || sealed === undefined || !kind.executable) return undefined;
  const hasHoldout = seesHoldout(node, kind.type);
  const seesOthers = sandboxLevelOf(run, node) !== 'bwrap';
  return hasHoldout || seesOthers ? { sealed, hasHoldout, seesOthers } : undefined;
}

const isApart = (a: Stage, b: Stage): boolean =>
  !(a.hasHoldout && b.seesOthers) && !(b.hasHoldout && a.seesOthers);

type Waiting = { readonly stage: Stage; readonly begin: () => void };
type Room = { readonly inside: Set<Stage>; waiting: Waiting[] };

/** Of the runs of this process. */
const rooms = new WeakMap<SealedHoldout, Room>();

/** Waits until no stage runs from which this one has to be apart; the first to ask is the first to begin. The answer is to be called
 *  when it has ended; undefined where the run was interrupted before. */
async function enter(stage: Stage, { signal }: LayerContext): Promise<(() => void) | undefined> {
  const room = rooms.get(stage.sealed) ?? { inside: new Set(), waiting: [] };
  rooms.set(stage.sealed, room);
  await new Promise<void>((resolve) => {
    const begin = () => {
      signal.removeEventListener('abort', begin);
      resolve();
    };
    room.waiting.push({ stage, begin });
    signal.addEventListener('abort', begin);
    admit(room);
  });
  if (signal.aborted) {
    room.waiting = room.waiting.filter((one) => one.stage !== stage);
    leave(room, stage);
    return undefined;
  }
  return () => leave(room, stage);
}

function leave(room: Room, stage: Stage): void {
  room.inside.delete(stage);
  admit(room);
}

function admit(room: Room): void {
  for (let [first] = room.waiting; first !== undefined; [first] = room.waiting) {
    const { stage, begin } = first;
    if (![...room.inside].every((other) => isApart(stage, other))) return;
    room.waiting.shift();
    room.inside.add(stage);
    begin();
  }
}
