/** An attribute of other implementations of the pipeline language that nothing reads here. */
import type { Rule } from '../rule.ts';
import { unread } from '../unread.ts';

export const noEffect: Rule = (subject) => unread(subject, 'no-effect');
