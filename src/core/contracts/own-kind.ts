/** The contract of own node types: what a module of a project, or a program that uses the library, gives for one. */
import type { failed, succeeded } from '../outcome.ts';
import type { commonAttributes, executableAttributes } from '../settings/node.ts';
import type * as settings from '../settings/types.ts';
import type { NodeKind } from './node-kind.ts';

/** An own node type. It has the attributes of every node and of every executable node besides its own, and runs in the process of
 *  the engine; what it answers is checked. */
export type OwnNodeKind<T extends settings.AttributeTable = settings.AttributeTable> = Pick<
  NodeKind<T & typeof commonAttributes & typeof executableAttributes>,
  'type' | 'does' | 'run'
> & {
  /** Shapes that stand for the type; none of those of other types. */
  readonly shapes?: readonly string[];
  /** Other names of the type. */
  readonly aliases?: readonly string[];
  /** By name, made with `attr`. */
  readonly attributes?: T;
} & Pick<NodeKind, 'outcomes' | 'codes' | 'check'>;

/** What a module gets to make its node type with, so that it need not import factory. */
export type NodeTools = {
  /** Types the settings of `run` by the attributes. */
  readonly kind: <T extends settings.AttributeTable>(kind: OwnNodeKind<T>) => OwnNodeKind;
  readonly attr: typeof settings.attr;
  /** Types of attributes. */
  readonly types: Pick<
    typeof settings,
    | 'text'
    | 'trimmed'
    | 'flag'
    | 'count'
    | 'integer'
    | 'number'
    | 'duration'
    | 'bytes'
    | 'word'
    | 'list'
    | 'path'
    | 'paths'
  >;
  /** Outcomes. */
  readonly succeeded: typeof succeeded;
  readonly failed: typeof failed;
};

/** The default export of a module that `nodes` of `factory.json` names. */
export type NodeModule = OwnNodeKind | ((tools: NodeTools) => OwnNodeKind | Promise<OwnNodeKind>);
