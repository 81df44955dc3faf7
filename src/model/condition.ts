/** The parsed form of edge conditions. */

export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains' | 'matches';

export type Condition =
  | { readonly op: 'compare'; readonly key: string; readonly test: Operator; readonly literal: string }
  /** A bare key: true when the value is neither empty, `false` nor `0`. */
  | { readonly op: 'truthy'; readonly key: string }
  | { readonly op: 'not'; readonly of: Condition }
  | { readonly op: 'and' | 'or'; readonly left: Condition; readonly right: Condition };
