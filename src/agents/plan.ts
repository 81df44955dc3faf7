/** What is planned before an agent is made, and what a plan is made of. */
import type { Agent, AgentName } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import type { AttributeTable } from '../core/settings/types.ts';
import type { AgentScript } from './script.ts';

export type AgentRequest = {
  readonly env: Environment;
  /** The node's `agent.backend`. */
  readonly nodeBackend?: string | undefined;
  /** The node's `llm_provider`; empty for none. */
  readonly provider?: string;
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

export type AgentDeps = {
  readonly env: Environment;
  readonly clock: Clock;
  /** Reads a file as UTF-8; rejects when it cannot. */
  readonly readFile: (path: string) => Promise<string>;
};

/** How an agent will work: the model and effort that were chosen for it, and words for records and people. */
type Making = {
  readonly model?: string;
  readonly effort?: string;
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
