/** A called pipeline has no settings of a whole run. */
import { settingsOfRun } from '../../core/calls.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

export const callSetting: Rule = {
  code: 'call-setting',
  severity: 'warning',
  rule: 'A pipeline that another one calls (here, the example) sets no workdir, holdout, agent script, sandbox or limits: those of the run apply.',
  wrong: 'max_cost_usd=1; start; exit; start -> exit',
  fix: 'set it in the pipeline that is run',
  *check({ graph, options }) {
    if (options.isCalled !== true) return;
    for (const key of settingsOfRun) {
      const attribute = present(graph.attrs, key);
      // It asks for nothing that the caller has not: a pipeline that is also run alone, without a folder.
      if (attribute === undefined || (key === 'workdir' && attribute.value.text === 'none')) continue;
      yield finding(graph, callSetting, {
        message: `${attribute.written} has no effect while another pipeline calls this one: that of the run applies`,
        span: attribute.keySpan,
        fix: `set ${attribute.written} in the pipeline that is run, if it should apply there`,
      });
    }
  },
};
