/** The answer of a step that failed at a stage of the attempt. */
import { no, type Verdict } from '../../model/step.ts';
import { classOf, type StageFailure } from '../stage.ts';

/** `<stage>: why`, with the stage's class. */
export const refuse = (failed: StageFailure, more: { label?: string } = {}): Verdict =>
  no(classOf(failed.stage), `${failed.stage}: ${failed.reason}`, {
    ...more,
    updates: { 'order.stage': failed.stage },
  });
