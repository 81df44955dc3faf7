/** The answer of a step that failed at a stage of the attempt. */
import { no, type StepVerdict } from '../../core/contracts/step.ts';
import { failureClassOf, type StageFailure } from '../../core/orders/failure-stage.ts';

/** `<stage>: why`, with the stage's class. */
export const refuse = (failed: StageFailure, more: { label?: string } = {}): StepVerdict =>
  no(failureClassOf(failed.stage), `${failed.stage}: ${failed.reason}`, {
    ...more,
    updates: { 'order.stage': failed.stage },
  });
