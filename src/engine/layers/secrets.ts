/** Keeps secrets out of the node's artifacts and of its outcome. */
import { own } from '../../core/json.ts';
import { failed, keptOfAttempt, type Outcome } from '../../core/outcome.ts';
import { maskedObject } from '../../core/policy/mask.ts';
import { maskFolder } from '../../run/artifacts.ts';
import type { Layer, LayerContext } from './layer.ts';

export const secrets: Layer = (next) => async (context) => {
  const executed = await next(context);
  await maskFolder(context.nodeDir, context.secrets.given());
  return { ...executed, outcome: withWholePlan(executed.outcome, context) };
};

/** The outcome, masked; a failure if its verification plan holds a secret: with stars it would be a plan of other commands. */
function withWholePlan(outcome: Outcome, { node, secrets: { mask } }: LayerContext): Outcome {
  const clean = masked(outcome, mask);
  const key = node.settings['verification.plan_context_key'];
  const [plan, shown] = [outcome, clean].map(({ updates }) => JSON.stringify(own(updates, key)));
  if (outcome.status === 'fail' || plan === shown) return clean;
  return {
    ...failed(
      `the verification plan ("${key}") holds the value of a secret of the environment, which is masked in every record: use the variable in the command, or unset it`,
      'config',
      { broke: true },
    ),
    ...keptOfAttempt(clean),
  };
}

/** Masks secrets in the texts of an outcome. */
function masked(outcome: Outcome, mask: (text: string) => string): Outcome {
  const clean: Outcome = {
    ...outcome,
    label: mask(outcome.label),
    suggested: outcome.suggested.map(mask),
    notes: mask(outcome.notes),
    ...(outcome.denied === undefined ? {} : { denied: outcome.denied.map(mask) }),
    updates: maskedObject(outcome.updates, mask),
  };
  if (clean.status === 'retry') return { ...clean, reason: mask(clean.reason) };
  if (clean.status !== 'fail') return clean;
  const { attribution, command } = clean;
  return {
    ...clean,
    reason: mask(clean.reason),
    ...(command === undefined ? {} : { command: mask(command) }),
    ...(attribution === undefined ? {} : { attribution: { ...attribution, why: mask(attribution.why) } }),
  };
}
