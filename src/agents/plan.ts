/** What is planned before an agent is made, and what a plan is made of. */
import type { Agent, AgentName } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import type { ModelServer, ModelServers } from '../core/model-server.ts';
import type { NodeSettings } from '../core/settings/node.ts';
import type { AttributeTable } from '../core/settings/types.ts';
import type { AgentScript } from './script.ts';

export type AgentRequest = {
  readonly env: Environment;
  /** The node's `agent.backend`. */
  readonly nodeBackend?: string | undefined;
  /** The node's `llm_provider`; empty for none. */
  readonly provider?: string;
  /** What the node's model begins with where it names no provider; empty for nothing. */
  readonly prefix?: string;
  /** The provider of nodes that name none, and what sets it: `--provider`, a variable, a file. */
  readonly runProvider?: { readonly name: string; readonly by: string } | undefined;
  /** Default: the built-in ones. */
  readonly servers?: ModelServers;
  /** The provider that follows from those. */
  readonly asks?: AskedProvider | undefined;
  /** Agent programs that can be started here. */
  readonly programs?: readonly string[];
  /** Of a run that continues: the agents that providers have chosen. */
  readonly recorded?: Readonly<Record<string, string>> | undefined;
  /** `--agent`. */
  readonly flag?: string | undefined;
  /** Where `flag` comes from, unless it was typed. */
  readonly flagBy?: string | undefined;
  /** `--model`; of a run that continues, the model of its agent. */
  readonly model?: string | undefined;
  /** The typed `--model` of a run that continues. */
  readonly typedModel?: string | undefined;
  /** `--effort`. */
  readonly effort?: string | undefined;
  readonly temperature?: number | undefined;
  /** The script that the pipeline bundles or the user names. */
  readonly script?: { readonly path: string; readonly script: AgentScript } | undefined;
  /** Whether `--script` names it. */
  readonly scriptNamed?: boolean;
};

/** A provider that is asked. `whole`: it is named, so that names of models are its own, whatever they begin with. */
export type AskedProvider = {
  readonly name: string;
  readonly by: string;
  readonly whole: boolean;
  readonly ofNode: boolean;
};

export type AgentDeps = {
  readonly env: Environment;
  readonly clock: Clock;
  /** Reads a file as UTF-8; rejects when it cannot. */
  readonly readFile: (path: string) => Promise<string>;
};

/** The server that is asked for a model, and the model's name there. */
export type ModelRoute = { readonly server: ModelServer; readonly model: string };

/** How an agent will work: the model and effort that were chosen for it, and words for records and people. */
type Making = {
  readonly model?: string;
  readonly effort?: string;
  /** Of the agent `openai`: the server that it asks, and the one for a model that a node names. */
  readonly server?: ModelServer;
  readonly routeOf?: (settings: Partial<NodeSettings>, model: string) => ModelRoute;
  /** With the model of nodes that name none. */
  readonly describe: string;
  /** Makes the agent; keys come from the environment only here, so a plan may be kept and shown. */
  readonly create: (deps: AgentDeps) => Agent | Promise<Agent>;
};

/** An agent that answers; of several, asked in order, `name` is the chosen list. */
export type AgentPlan = Making & {
  readonly name: string;
  /** Who decided, for people. */
  readonly chosenBy: string;
  readonly agents?: readonly AgentPlan[];
};

export type AgentProblem = { readonly problem: Diagnostic };

/** An agent: the attributes that it reads from its nodes, and how it is planned for a request. Pure. */
export type AgentKind = {
  readonly attributes?: AttributeTable;
  readonly plan: (request: AgentRequest, chosenBy: string) => Making | AgentProblem;
};
export type AgentKinds = Readonly<Record<AgentName, AgentKind>>;

export const agentProblem = (code: string, message: string, fix: string): AgentProblem => ({
  problem: { code, severity: 'error', message, fix },
});

/** A word without the blanks around it; undefined for none. */
export const wordOf = (text: string | undefined): string | undefined => text?.trim() || undefined;

/** Model and effort of the flags. */
export function modelFlags(request: AgentRequest): { readonly model?: string; readonly effort?: string } {
  const [model, effort] = [wordOf(request.model), wordOf(request.effort)];
  return { ...(model === undefined ? {} : { model }), ...(effort === undefined ? {} : { effort }) };
}
