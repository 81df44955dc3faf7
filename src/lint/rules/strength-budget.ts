/** Measuring the strength of scenarios must end before the node's time does: else a product that passed fails for its judge. */
import { elapsedWords } from '../../core/amounts.ts';
import { runsScenarios } from '../../core/policy/holdout-paths.ts';
import { measuresStrength } from '../../core/settings/node.ts';
import { finding, type Rule } from '../rule.ts';

export const strengthBudget: Rule = {
  code: 'strength-budget',
  severity: 'error',
  rule: '`strength_budget` is less than the `timeout` of the node that measures: its scenarios take time too.',
  wrong:
    'start; exit; a [shape=parallelogram, strength=60, timeout=5m, tool_command="factory scenario run scripts/scenarios --app ."]; start -> a; a -> exit [condition="outcome=success"]',
  fix: '`timeout=15m`, or a shorter `strength_budget`',
  *check({ graph }) {
    for (const node of graph.nodes.values()) {
      const { settings, attrs, span } = node;
      if (!measuresStrength(settings) || !runsScenarios(settings.tool_command ?? '')) continue;
      const { strength_budget: budget, timeout } = settings;
      if (budget < timeout) continue;
      const at = ['strength_budget', 'timeout', 'strength', 'min_strength'].flatMap(
        (key) => attrs.get(key) ?? graph.attrs.get(key) ?? [],
      );
      yield finding(graph, strengthBudget, {
        message: `"${node.id}" may measure the strength for ${elapsedWords(budget)} (strength_budget), but its timeout is ${elapsedWords(timeout)}`,
        span: at[0]?.valueSpan ?? span,
        fix: 'set a longer timeout, with time for the scenarios, or a shorter strength_budget',
      });
    }
  },
};
