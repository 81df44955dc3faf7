/** What the library offers. Version 0: it may change. */
export type { Agent, AgentReport, AgentTask, Usage } from './agents/agent.ts';
export { evaluate, parseCondition } from './dot/condition.ts';
export { readGraph } from './dot/read.ts';
export type { Log, Watcher } from './engine/watch.ts';
export type { Doors, Finished, Refusal, RunFlags } from './factory.ts';
export { readPipeline, resumeRun, startRun } from './factory.ts';
export { lint } from './lint/lint.ts';
export type { Diagnostic, Place, Position, Span } from './model/diagnostic.ts';
export { RunEvent } from './model/event.ts';
export type { Attribute, Edge, Graph, Node, Value } from './model/graph.ts';
export { Manifest } from './model/manifest.ts';
export { RunResult } from './model/result.ts';
export { kinds } from './nodes/index.ts';
export type { NodeKind, Site } from './nodes/kind.ts';
