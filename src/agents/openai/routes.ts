/** Which server is asked for a model: of a name such as `mistral/large`, where nothing names the provider, that of the provider
 *  with which it begins. */
import type { Agent, AgentTask } from '../../core/contracts/agent.ts';
import {
  builtInServers,
  hasOtherServer,
  type ModelServer,
  modelOfProvider,
  serverOf,
} from '../../core/model-server.ts';
import { providerOf } from '../../core/providers.ts';
import type { NodeSettings } from '../../core/settings/node.ts';
import type { AgentRequest, ModelRoute } from '../plan.ts';

/** The routes of an agent that asks `server` for all other models. A server of the user's own has any names. */
export const routesFor =
  ({ env, asks, servers = builtInServers }: AgentRequest, server: ModelServer) =>
  (settings: Partial<NodeSettings>, model: string): ModelRoute => {
    const isWhole = asks?.whole === true || providerOf(settings) !== '' || hasOtherServer(env);
    const to = isWhole ? undefined : modelOfProvider(servers, model);
    const other = to === undefined ? undefined : serverOf(servers, to.provider, env);
    return to === undefined || other === undefined ? { server, model } : { server: other, model: to.model };
  };

/** The agent of a server, which hands a task for the model of another provider to an agent of that one. */
export function routedAgent(
  main: Agent,
  server: ModelServer,
  routeOf: (settings: AgentTask['settings'], model: string) => ModelRoute,
  make: (server: ModelServer) => Agent,
): Agent {
  const others = new Map<string, Agent>([[server.provider, main]]);
  const routed = <T extends Pick<AgentTask, 'model' | 'settings'>>(task: T) => {
    if (task.model === undefined) return { agent: main, task };
    const { server: to, model } = routeOf(task.settings, task.model);
    const agent = others.get(to.provider) ?? make(to);
    others.set(to.provider, agent);
    return { agent, task: { ...task, model } };
  };
  return {
    ...main,
    modelFor: (given) => {
      const { agent, task } = routed(given);
      return agent.modelFor?.(task);
    },
    accountFor: (given) => {
      const { agent, task } = routed(given);
      return agent.accountFor?.(task);
    },
    work: (given, signal) => {
      const { agent, task } = routed(given);
      return agent.work(task, signal);
    },
  };
}
