/** An agent of this machine can ask the models of every provider that nodes name. */
import { userFileName } from '../../core/model-server.ts';
import { nearest } from '../../core/nearest.ts';
import { backendOf } from '../../core/pipeline.ts';
import { agentsForProvider, providerOf, servedProviders } from '../../core/providers.ts';
import { present } from '../../core/settings/types.ts';
import { spanOfStyle } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const providerUnserved: Rule = {
  code: 'provider-unserved',
  severity: 'warning',
  rule: 'A provider that nodes without `agent.backend` name is built in; another one needs an entry in your `factory.json`.',
  wrong: 'start; exit; a [label=a, llm_provider=acme]; start -> a -> exit',
  fix: 'another provider, an entry in `factory.json`, or `agent.backend=command` with a program for its models',
  *check({ graph, options }) {
    const reported = new Set<string>();
    for (const node of graph.nodes.values()) {
      const provider = providerOf(node.settings);
      if (provider === '' || agentsForProvider(provider).length > 0 || backendOf(node) !== '') continue;
      if (reported.has(provider)) continue;
      reported.add(provider);
      const own = options.providers?.() ?? [];
      if (own.includes(provider)) continue;
      const meant = nearest(provider, [...servedProviders, ...own]);
      yield finding(graph, providerUnserved, {
        message: `the provider "${provider}" is not built in: without an entry in your factory.json the run is refused`,
        span:
          present(node.attrs, 'llm_provider')?.valueSpan ??
          spanOfStyle(graph, node, 'llm_provider') ??
          node.span,
        fix:
          meant === undefined
            ? `name a provider of ${servedProviders.join(', ')}, add it to ${userFileName}, or choose the agent: agent.backend=command with a program for these models`
            : `write ${meant}`,
      });
    }
  },
};
